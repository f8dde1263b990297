#!/usr/bin/env bash
# Every test of the project on a fresh machine: the tests in the release build, those not labelled slow again under
# ASan and UBSan, two campaigns of mhcheck fuzz, each libFuzzer harness for a few seconds, and the source format. One
# line a stage; the last line counts the tests, where a campaign and the format count as one each, and a stage that
# could not be built counts as one failure.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit
. scripts/stage.sh

passed=0
failed=0
skipped=0

# run_tests STAGE BUILD_FOLDER CTEST_ARGUMENT...: adds what ctest's closing lines count, where a test whose program is
# missing is a failure and a skipped one is among the passed.
run_tests() {
  local name=$1 log all_failed all not_run
  stage "$name" ctest --test-dir "$2" --output-on-failure --no-tests=error "${@:3}"
  log=$(stage_log "$name")
  read -r all_failed all < <(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$log")
  if [[ -z ${all:-} ]]; then
    failed=$((failed + 1))
    return
  fi
  not_run=$(grep --count --extended-regexp '^[[:space:]]+[0-9]+ - .* \(Skipped\)$' "$log")
  failed=$((failed + all_failed))
  skipped=$((skipped + not_run))
  passed=$((passed + all - all_failed - not_run))
}

# build PRESET TARGET: configures and builds; false when there is nothing to test.
build() {
  stage "$1 configure" cmake --preset "$1" && stage "$1 build" cmake --build --preset "$1" --target "$2" && return
  failed=$((failed + 1))
  return 1
}

# check STAGE COMMAND...: a stage that is one test.
check() {
  if stage "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# campaign STAGE OPTION...: so many cases, and not so many seconds, that every run tries the same.
campaign() {
  check "$1" build/mhcheck fuzz --seed 1 --jobs "$CTEST_PARALLEL_LEVEL" --failures build/fuzz-failures "${@:2}"
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
if build release all; then
  run_tests "release tests" build
  campaign "fuzz host" --cases 5000
  campaign "fuzz simulator" --cases 3000 --device sim --sanitize all
fi
build sanitize all && run_tests "sanitize tests" build-sanitize --label-exclude slow
build fuzz fuzzers && run_tests "fuzz tests" build-fuzz --label-regex fuzz
check "format" scripts/check_format.sh
finish
