#!/usr/bin/env bash
# The main job on a fresh machine: installs, builds, and runs `mhcheck run` with the given arguments. Without any:
# the merge profile on our own kernels as gfx950 machine code, on the simulator, with reports in build/report.json,
# build/report.xml (JUnit) and build/report.html.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/scripts/stage.sh"

# Builds from the repository, runs from where the caller is: file arguments are the caller's.
configure() { (cd "$root" && cmake --preset release); }
build() { cmake --build "$root/build" --target mhcheck; }

"$root/scripts/setup.sh"
stage "configure" configure
stage "build" build

if [[ $# -eq 0 ]]; then
  set -- --profile merge --device sim --json "$root/build/report.json" --junit "$root/build/report.xml" \
    --html "$root/build/report.html"
fi
exec "$root/build/mhcheck" run "$@"
