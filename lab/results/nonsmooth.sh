#!/usr/bin/env bash
# Measures losses whose slope jumps on the examples: medians over RUNS fits, on held-out
# rows, of flights' median and .9-quantile and of Adult by the hinge loss. Needs only Go.
#
#   lab/results/nonsmooth.sh [RUNS] [ALGORITHM] [EPSILON...]
#
# The figures are computed from the tables without accounting: the tables are public.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-10} algorithm=${2:-auto}
shift $(($# < 2 ? $# : 2))
epsilons=${*:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/stillpoint" ./cmd/stillpoint
median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
range() { sort -g | awk 'NR == 1 { a = $1 } { b = $1 } END { printf "%.5g-%.5g", a, b }'; }
measure() { # EXAMPLE TABLE MEASURE...
  local example=$1 table=$2 out name epsilon
  shift 2
  for epsilon in $epsilons; do
    for run in $(seq "$runs"); do
      out="$work/$(basename "$example")-$epsilon-$run"
      "$work/stillpoint" fit "examples/$example.yaml" --epsilon "$epsilon" --algorithm "$algorithm" --out "$out" >"$work/log" 2>&1
      "$work/stillpoint" verify "$out/certificate.json" --model "$out/model.json" >"$work/log"
      "$work/stillpoint" evaluate "$out/model.json" "examples/$table" --where split=test >"$out/test"
    done
    for name in "$@"; do
      awk -v name="$name" '$1 == name { print $2 }' "$work/$(basename "$example")-$epsilon"-*/test >"$work/values"
      printf '%-18s %-8s %-12s %-10.5g %s\n' "$example" "$epsilon" "$name" "$(median <"$work/values")" "$(range <"$work/values")"
    done
  done
}
printf '%-18s %-8s %-12s %-10s %s\n' example epsilon measure median range
measure adult/hinge adult/adult.csv.gz accuracy auc
measure flights/median flights/pnwflights.csv.gz mae share_below
measure flights/quantile flights/pnwflights.csv.gz share_below
