#!/usr/bin/env bash
# Measures the second example: for two tasks and four losses, medians over RUNS
# fits of the flights of the error on held-out rows, in minutes, and of the
# gradient norm on the training rows over the plan's prediction. Needs only Go.
#
#   lab/results/flights.sh [RUNS] [ALGORITHM] [EPSILON...]
#
# The figures are computed from the table without accounting: the table is public.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-5} algorithm=${2:-auto}
shift $(($# < 2 ? $# : 2))
epsilons=${*:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/stillpoint" ./cmd/stillpoint
data=$PWD/examples/flights/pnwflights.csv.gz
field() { awk -v name="$1" '$1 == name { print $2 }'; }
median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
printf '%-9s %-7s %-14s %-12s %-8s %-13s %-8s %-14s %s\n' task epsilon loss algorithm mae mae_range rmse gradient_norm measured/predicted
for epsilon in $epsilons; do
  for task in flights schedule; do
    for loss in 'squared(1)' 'squared(0.12)' 'huber(0.01)' 'welsch(0.02)'; do
      name=$task-$epsilon-$loss config=$work/$task.yaml
      sed "s|^data: .*|data: $data|; s|^  loss: .*|  loss: $loss|" "examples/flights/$task.yaml" >"$config"
      "$work/stillpoint" plan "$config" --verbose --epsilon "$epsilon" --algorithm "$algorithm" >"$work/plan"
      chosen=$(field algorithm <"$work/plan" | tr -d :)
      predicted=$(awk '$1 == "expect" { print $4 + 0 }' "$work/plan")
      for run in $(seq "$runs"); do
        out="$work/$name-$run"
        "$work/stillpoint" fit "$config" --epsilon "$epsilon" --algorithm "$algorithm" --out "$out" >"$work/log" 2>&1
        "$work/stillpoint" verify "$out/certificate.json" --model "$out/model.json" >"$work/log"
        "$work/stillpoint" evaluate "$out/model.json" "$data" --where split=test >"$work/test"
        "$work/stillpoint" evaluate "$out/model.json" "$data" --where split=train >"$work/train"
        field mae <"$work/test" >>"$work/mae-$name"
        field rmse <"$work/test" >>"$work/rmse-$name"
        field gradient_norm <"$work/train" >>"$work/gradient-$name"
      done
      gradient=$(median <"$work/gradient-$name")
      printf '%-9s %-7s %-14s %-12s %-8.2f %-13s %-8.2f %-14s %s\n' "$task" "$epsilon" "$loss" "$chosen" "$(median <"$work/mae-$name")" \
        "$(sort -g "$work/mae-$name" | awk 'NR == 1 { a = $1 } { b = $1 } END { printf "%.2f-%.2f", a, b }')" \
        "$(median <"$work/rmse-$name")" "$gradient" "$(awk -v g="$gradient" -v p="$predicted" 'BEGIN { if (p > 0) printf "%.2f", g / p; else printf "-" }')"
    done
  done
done
