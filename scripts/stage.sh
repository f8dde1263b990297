# Sourced by the other scripts: runs a step quietly, says in one line how it went, shows its output if it failed.
# Expects $root, the repository's folder, and keeps each step's output in $root/build/logs.

# stage NAME COMMAND...
stage() {
  local name=$1 log="$root/build/logs/${1// /-}.log" start=$SECONDS status=0
  shift
  mkdir -p "$root/build/logs"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [[ $status -eq 0 ]]; then
    printf 'ok      %-22s %4d s\n' "$name" $((SECONDS - start))
  else
    cat "$log"
    printf 'FAILED  %-22s %4d s   (output above, and in %s)\n' "$name" $((SECONDS - start)) "$log"
  fi
  return $status
}

# One compile or test process a core; set these two variables to use fewer on a machine that others work on.
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)}
