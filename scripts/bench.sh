#!/usr/bin/env bash
# Builds and runs the measurements of the reference, each a ratio to a peer in one run on one machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cmake --preset release >/dev/null
cmake --build --preset release --target reference_speed
build/bench/reference_speed
python3 bench/torch_float64.py
