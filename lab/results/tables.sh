#!/usr/bin/env bash
# Measures every algorithm on the tables of the examples, each with its default
# rule: medians over RUNS fits. Needs only Go.
#
#   lab/results/tables.sh adult|flights [RUNS] [EPSILON...]
#
# The figures are computed from the tables without accounting: they are public.
set -euo pipefail
cd "$(dirname "$0")/../.."
table=$1 runs=${2:-5}
shift $(($# < 2 ? $# : 2))
epsilons=${*:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/stillpoint" ./cmd/stillpoint
case $table in
adult) config=examples/adult/adult.yaml data=$PWD/examples/adult/adult.csv.gz metrics="accuracy auc" ;;
flights) config=examples/flights/flights.yaml data=$PWD/examples/flights/pnwflights.csv.gz metrics="mae rmse" ;;
*)
  echo "$0: $table: must be adult or flights" >&2
  exit 2
  ;;
esac
field() { awk -v name="$1" '$1 == name { print $2 }'; }
median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
printf '| epsilon | algorithm | steps | passes | %s | %s | gradient norm | predicted | measured/predicted |\n|---|---|---|---|---|---|---|---|---|\n' $metrics
for epsilon in $epsilons; do
  while IFS=';' read -r name settings; do
    sed "s|^data: .*|data: $data|; s|^  family: auto.*|  family: lines|" "$config" >"$work/$table.yaml"
    printf '\ntrain: {%s}\n' "$settings" >>"$work/$table.yaml"
    "$work/stillpoint" plan "$work/$table.yaml" --epsilon "$epsilon" --json >"$work/plan"
    # The first of each is the plan's own.
    of() { awk -F'[:,]' -v name="\"$1\"" 'index($1, name) && !n++ { print $2 + 0 }' "$work/plan"; }
    rm -f "$work"/value-*
    for run in $(seq "$runs"); do
      rm -rf "$work/fit"
      "$work/stillpoint" fit "$work/$table.yaml" --epsilon "$epsilon" --out "$work/fit" >"$work/log" 2>&1
      "$work/stillpoint" verify "$work/fit/certificate.json" --model "$work/fit/model.json" >"$work/log"
      "$work/stillpoint" evaluate "$work/fit/model.json" "$data" --where split=test >"$work/test"
      "$work/stillpoint" evaluate "$work/fit/model.json" "$data" --where split=train >"$work/train"
      for m in $metrics; do field "$m" <"$work/test" >>"$work/value-$m"; done
      field gradient_norm <"$work/train" >>"$work/value-gradient"
    done
    gradient=$(median <"$work/value-gradient") predicted=$(of predicted_gradient_norm)
    printf '| %s | %s | %s | %.3g |' "$epsilon" "$name" "$(of steps)" "$(of passes)"
    for m in $metrics; do printf ' %.4f |' "$(median <"$work/value-$m")"; done
    # A prediction of 0 says that there is none.
    awk -v g="$gradient" -v p="$predicted" 'BEGIN {
      if (p > 0) printf " %.3g | %.3g | %.2f |\n", g, p, g / p; else printf " %.3g | | |\n", g }'
  done <<'ALGORITHMS'
auto;
gd;algorithm: gd
gd, last;algorithm: gd, output: last
spiderboost;algorithm: spiderboost
spiderboost, batches;algorithm: spiderboost, anchor_batch: 0.1, difference_batch: 0.05, steps: 100
storm;algorithm: storm
dp-sgd;algorithm: dp-sgd
dp-adam;algorithm: dp-adam
one-pass-sgd;algorithm: one-pass-sgd
one-pass-storm;algorithm: one-pass-storm
tree-spider;algorithm: tree-spider
recursive;algorithm: recursive
recursive, disjoint cohorts;algorithm: recursive, cohorts: disjoint
recursive, phased SGD;algorithm: recursive, inner: phased-sgd
gd, selected;algorithm: gd, output: selected
ALGORITHMS
done
