#!/usr/bin/env bash
# Measures the smallest visible errors anew: the tables at the end of docs/power.md, and docs/power.svg.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake --preset release >/dev/null
cmake --build --preset release --target power >/dev/null
tables=$(build/bench/power docs/power.svg)
text=$(sed '/^| operator | output |/,$d' docs/power.md)
printf '%s\n\n%s\n' "$text" "$tables" >docs/power.md
