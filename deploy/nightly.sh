#!/bin/sh
# Every night, without a worker: sync, push, report, and a lake in the folder LAKE, of all projects. Ends with the exit code that matters most: 2, 1, 3, 0.
# A command that fails with 1 runs again, after a minute and after ten.
set -u
worst=0

run() {
  for wait in 60 600 end; do
    deskmirror "$@"
    code=$?
    [ "$code" -eq 0 ] || echo "deskmirror $1 ended with $code" >&2
    if [ "$code" -ne 1 ] || [ "$wait" = end ]; then break; fi
    sleep "${NIGHTLY_WAIT:-$wait}"
  done
  case "$worst,$code" in
    *,0 | 2,* | 1,3) ;;
    *,3 | *,2 | *,1) worst=$code ;;
    *) worst=1 ;; # a signal
  esac
}

run sync --mode reconcile --wait --quiet
run push --quiet
run report --output report.html --force
[ -z "${LAKE:-}" ] || run export --lake "$LAKE" --quiet
exit "$worst"
