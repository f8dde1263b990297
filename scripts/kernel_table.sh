#!/usr/bin/env bash
# Writes the tables at the end of docs/kernels.md anew, after the kernels or their compiler have changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake --preset release >/dev/null
cmake --build --preset release --target kernel_table >/dev/null
tables=$(build/bench/kernel_table)
text=$(sed '/^| operator | hidden_size |/,$d' docs/kernels.md)
printf '%s\n\n%s\n' "$text" "$tables" >docs/kernels.md
