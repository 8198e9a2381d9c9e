#!/usr/bin/env bash
# Reading and fitting beside an earlier version, OLD, the path of a checkout of it, in turn: seconds of
# processor time of one thread, and the median of the turns' ratios. PYTHON has pyarrow and numpy; TURNS
# and WHAT ("read:num fit:digits") may say how often, and what.
set -euo pipefail
cd "$(dirname "$0")/../../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" lab/results/speed/tables.py "$work"
go test -tags results -c -o "$work/new" ./lab/results
cp lab/results/reading_test.go lab/results/fitting_test.go "$OLD/results/"
(cd "$OLD" && go test -tags results -c -o "$work/old" ./lab/results)
seconds() { # binary read|fit table
  local test=TestReading
  [ "$2" = read ] || test=TestFitting
  TIMEFORMAT='%U %S'
  { time READING="$work/$3.yaml" FITTING="$work/$3.yaml" GOMAXPROCS=1 "$work/$1" -test.run "$test\$" > /dev/null; } 2>&1 |
    awk 'END { print $1 + $2 }'
}
for what in ${WHAT:-read:num read:num32 read:csv fit:num fit:digits}; do
  rm -f "$work/ratios"
  for turn in $(seq "${TURNS:-5}"); do
    old=$(seconds old "${what%:*}" "${what#*:}")
    new=$(seconds new "${what%:*}" "${what#*:}")
    awk -v w="$what" -v a="$old" -v b="$new" 'BEGIN { printf "%s: earlier %.2f s, this %.2f s\n", w, a, b }'
    awk -v a="$old" -v b="$new" 'BEGIN { print a / b, a, b }' >> "$work/ratios"
  done
  sort -n "$work/ratios" | awk -v w="$what" '{ r[NR] = $1 } END { printf "%s: earlier %.1f times this\n", w, r[int((NR + 1) / 2)] }'
done
