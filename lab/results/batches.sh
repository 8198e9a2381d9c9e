#!/usr/bin/env bash
# Measures SpiderBoost on the batches of its rule against DP-SGD on Adult, at the same budget and the same
# number of passes: medians over RUNS fits. Needs only Go.
#
#   lab/results/batches.sh [RUNS] [EPSILON...]
#
# TRIES, if set, is what SpiderBoost is tried with, separated by semicolons, in place of batches: auto with three slacks.
#
# The figures are computed from the table without accounting: the table is public.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-5}
shift $(($# < 1 ? $# : 1))
epsilons=${*:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/stillpoint" ./cmd/stillpoint
data=$PWD/examples/adult/adult.csv.gz
field() { awk -v name="$1" '$1 == name { print $2 }'; }
median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
of() { awk -F'[:,]' -v name="\"$1\"" 'index($1, name) && !n++ { print $2 + 0 }' "$work/plan"; }
# planned SETTINGS writes the configuration with these settings and its plan.
planned() {
  sed "s|^data: .*|data: $data|; s|^  family: auto.*|  family: lines|" examples/adult/adult.yaml >"$work/adult.yaml"
  printf '\ntrain: {%s}\n' "$1" >>"$work/adult.yaml"
  "$work/stillpoint" plan "$work/adult.yaml" --epsilon "$epsilon" --json >"$work/plan"
}
row() {
  rm -f "$work"/value-*
  for _ in $(seq "$runs"); do
    rm -rf "$work/fit"
    "$work/stillpoint" fit "$work/adult.yaml" --epsilon "$epsilon" --out "$work/fit" >"$work/log" 2>&1
    "$work/stillpoint" evaluate "$work/fit/model.json" "$data" --where split=test >"$work/test"
    "$work/stillpoint" evaluate "$work/fit/model.json" "$data" --where split=train >"$work/train"
    for m in accuracy auc; do field "$m" <"$work/test" >>"$work/value-$m"; done
    field gradient_norm <"$work/train" >>"$work/value-gradient"
  done
  printf '| %s | %s | %s | %.3g | %.4f | %.4f | %.3g | %.3g |\n' "$epsilon" "$1" "$(of steps)" "$(of passes)" \
    "$(median <"$work/value-accuracy")" "$(median <"$work/value-auc")" "$(median <"$work/value-gradient")" \
    "$(of predicted_gradient_norm)"
}
printf '| epsilon | algorithm | steps | passes | accuracy | AUC | gradient norm | predicted |\n|---|---|---|---|---|---|---|---|\n'
for epsilon in $epsilons; do
  while read -rd';' try && [ -n "$try" ]; do
    planned "algorithm: spiderboost, $try"
    row "spiderboost, $try"
    passes=$(of passes)
    planned "algorithm: dp-sgd"
    steps=$(of steps)
    planned "algorithm: dp-sgd, steps: $steps, sampling: $(awk "BEGIN { s = $passes / $steps; print s < 1 ? s : 1 }")"
    row "dp-sgd"
  done <<<"${TRIES:-batches: auto, batch_slack: 0.1;batches: auto, batch_slack: 0.3;batches: auto, batch_slack: 1};"
done
