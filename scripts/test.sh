#!/usr/bin/env bash
# Every test of the project on a fresh machine: the tests in the release build, those not labelled slow again under
# ASan and UBSan, each fuzzer for a few seconds, and the source format. One line a stage; the last line counts the
# tests, where a stage that could not be built or a format error counts as one failure.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
. scripts/stage.sh

passed=0
failed=0
skipped=0

# The number in NAME="number" of the first line of a ctest JUnit file that has it.
junit_count() { sed -n "s/.*[[:space:]]$2=\"\([0-9]*\)\".*/\1/p" "$1" | head -n 1; }

# run_tests STAGE BUILD_FOLDER CTEST_ARGUMENT...
run_tests() {
  local name=$1 junit=$2/test-results.xml ok=yes failures
  local -a ctest=(ctest --test-dir "$2" --output-on-failure --no-tests=error --output-junit "$root/$junit" "${@:3}")
  rm -f "$junit"
  stage "$name" "${ctest[@]}" || ok=no
  if [[ ! -f $junit ]]; then
    failed=$((failed + 1))
    return
  fi
  failures=$(junit_count "$junit" failures)
  local not_run=$(($(junit_count "$junit" skipped) + $(junit_count "$junit" disabled)))
  passed=$((passed + $(junit_count "$junit" tests) - failures - not_run))
  skipped=$((skipped + not_run))
  # A test whose program is missing is not among ctest's failures.
  [[ $ok == no && $failures -eq 0 ]] && failures=1
  failed=$((failed + failures))
}

# build PRESET TARGET: configures and builds; false when there is nothing to test.
build() {
  stage "$1 configure" cmake --preset "$1" && stage "$1 build" cmake --build --preset "$1" --target "$2" && return
  failed=$((failed + 1))
  return 1
}

finish() {
  if [[ $skipped -gt 0 ]]; then
    echo "$passed passed, $failed failed, $skipped skipped"
  else
    echo "$passed passed, $failed failed"
  fi
  [[ $failed -eq 0 ]]
  exit
}

if ! scripts/setup.sh; then
  failed=1
  finish
fi
build release all && run_tests "release tests" build
build sanitize all && run_tests "sanitize tests" build-sanitize --label-exclude slow
build fuzz fuzzers && run_tests "fuzz tests" build-fuzz --label-regex fuzz
if stage "format" scripts/check_format.sh; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
finish
