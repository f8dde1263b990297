# Sourced by the other scripts: runs a step quietly, says in one line how it went, shows its output if it failed.
# Expects $root, the repository's folder, and keeps each step's output in $root/build/logs.

# The file that keeps the output of the stage NAME.
stage_log() { echo "$root/build/logs/${1// /-}.log"; }

# stage NAME COMMAND...
stage() {
  local name=$1 log start=$SECONDS status=0
  shift
  log=$(stage_log "$name")
  mkdir -p "$root/build/logs"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [[ $status -eq 0 ]]; then
    printf 'ok      %-22s %4d s\n' "$name" $((SECONDS - start))
  else
    # Of a long test run only what did not pass is worth reading here.
    grep -vE '^ *Start +[0-9]+: |^ *[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed +[0-9.]+ sec$' "$log" || true
    printf 'FAILED  %-22s %4d s   (output above, and in %s)\n' "$name" $((SECONDS - start)) "$log"
  fi
  return $status
}

# One compile or test process a core; set these two variables to use fewer on a machine that others work on.
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)}
