#!/usr/bin/env bash
# Every tracked C++ source is as clang-format writes it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# safe.directory: a checkout may belong to another user than the one who runs CI.
mapfile -t sources < <(git -c safe.directory="$root" ls-files '*.h' '*.cpp' '*.hip')
if [[ ${#sources[@]} -eq 0 ]]; then
  echo "check_format: git lists no sources in $root" >&2
  exit 1
fi
clang-format --dry-run --Werror "${sources[@]}"
echo "${#sources[@]} files are formatted"
