#!/usr/bin/env bash
# Installs the Debian packages of scripts/packages.txt that are missing. Quiet unless something goes wrong; does
# nothing, and needs no network and no root, when nothing is missing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() {
  echo "setup: $1" >&2
  exit 1
}

is_installed() {
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  die "this system has no apt; install the equivalents of $root/scripts/packages.txt by hand"

missing=()
while read -r package _; do
  [[ -z $package || $package == '#'* ]] && continue
  is_installed "$package" || missing+=("$package")
done <"$root/scripts/packages.txt"
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || die "must be root, or have sudo, to install: ${missing[*]}"
  # Without a terminal nobody can type a password: fail at once instead of waiting for one.
  [[ -t 0 ]] && as_root=(sudo) || as_root=(sudo -n)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" \
    >"$log" 2>&1 </dev/null || {
    cat "$log" >&2
    return 1
  }
}

apt update || die "apt-get update failed (its output is above)"
for package in "${missing[@]}"; do
  [[ -n $(apt-cache show "$package" 2>/dev/null) ]] ||
    die "package $package is not in this system's apt sources; Debian 12's main archive has it"
done
echo "setup: installing ${missing[*]}"
apt install -y --no-install-recommends "${missing[@]}" || die "apt-get install failed (its output is above)"
