#!/usr/bin/env bash
# Measures the first example: for each epsilon, medians over RUNS fits of the
# Adult table (official split) of test accuracy, test AUC, and the gradient norm
# on the training rows beside the plan's prediction. Needs only Go.
#
#   lab/results/adult.sh [RUNS] [ALGORITHM]
#
# The figures are computed from the table without accounting: the table is public.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-10} algorithm=${2:-gd}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/stillpoint" ./cmd/stillpoint
config=examples/adult/adult.yaml data=examples/adult/adult.csv.gz # its algorithm has lines
field() { awk -v name="$1" '$1 == name { print $2 }'; }
median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
printf '%-8s %-10s %-10s %-14s %-14s %s\n' epsilon accuracy auc gradient_norm predicted measured/predicted
for epsilon in 0.1 0.5 1 2; do
  predicted=$("$work/stillpoint" plan "$config" --epsilon "$epsilon" --algorithm "$algorithm" --json |
    awk -F'[:,]' '/predicted_gradient_norm/ && !n++ { print $2 + 0 }')
  for run in $(seq "$runs"); do
    out="$work/$epsilon-$run"
    "$work/stillpoint" fit "$config" --epsilon "$epsilon" --algorithm "$algorithm" --out "$out" >"$work/log" 2>&1
    "$work/stillpoint" verify "$out/certificate.json" --model "$out/model.json" >"$work/log"
    "$work/stillpoint" evaluate "$out/model.json" "$data" --where split=test >"$work/test"
    "$work/stillpoint" evaluate "$out/model.json" "$data" --where split=train >"$work/train"
    field accuracy <"$work/test" >>"$work/accuracy-$epsilon"
    field auc <"$work/test" >>"$work/auc-$epsilon"
    field gradient_norm <"$work/train" >>"$work/gradient-$epsilon"
  done
  gradient=$(median <"$work/gradient-$epsilon")
  printf '%-8s %-10s %-10s %-14s %-14s %s\n' "$epsilon" "$(median <"$work/accuracy-$epsilon")" "$(median <"$work/auc-$epsilon")" \
    "$gradient" "$predicted" "$(awk "BEGIN { print $gradient / $predicted }")"
done
