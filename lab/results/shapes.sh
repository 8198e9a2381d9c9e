#!/usr/bin/env bash
# Measures the default choice, and others beside it, on tables that are hard in one way
# each: generated ones, whose law is in this file, and pieces of Adult.
#
#   lab/results/shapes.sh [RUNS [SHAPE...]]
#
# Every line is metric.sh's, which see. Needs Go and awk.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-5}
shift $(($# < 1 ? $# : 1))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# rows N D KIND writes N rows of D numbers in [-1, 1] and a class: column j has
# deviation .3/sqrt(j), the class is 1 with probability 1/(1 + exp(-score)). Every
# fifth row is held out.
rows() {
  awk -v n="$1" -v d="$2" -v kind="$3" 'function normal() { return sqrt(-2 * log(1 - rand())) * cos(6.283185307179586 * rand()) }
  function cut(x) { return x < -1 ? -1 : x > 1 ? 1 : x }
  BEGIN {
    srand(7)
    for (j = 1; j <= d; j++) { w[j] = (j % 2 ? 1 : -1) * 6 / sqrt(j); printf "c%d,", j }
    print "y,split"
    for (i = 0; i < n; i++) {
      score = kind == "rare" ? -6 : 0
      big = kind == "heavy" && rand() < .01 ? 6 : 1
      for (j = 1; j <= d; j++) {
        x[j] = cut(big * .3 / sqrt(j) * normal())
        if (kind == "twice" && j % 2 == 0) x[j] = x[j - 1]
        if (kind == "constant" && j % 3 == 0) x[j] = .9
        score += w[j] * x[j]
        printf "%.4f,", x[j]
      }
      print (rand() < 1 / (1 + exp(-score)) ? "b" : "a") "," (i % 5 == 4 ? "test" : "train")
    }
  }' >"$work/$3-$2.csv"
}
# config NAME DATA COLUMNS RELATION: the configuration of such a table.
config() {
  local n
  n=$(awk -F, 'NR > 1 && $NF == "train"' "$2" | wc -l)
  {
    printf 'data: %s\nschema:\n  columns:\n' "$2"
    for ((j = 1; j <= $3; j++)); do printf '    c%d: {number: [-1, 1]}\n' "$j"; done
    printf '    split: {public: [train, test]}\n  target: {column: y, classes: [a, b]}\n  where: split=train\n'
    printf 'model: {loss: %s}\nprivacy: {epsilon: 1, delta: 1e-6, relation: %s, records: %d}\n' "$4" "$5" "$n"
  } >"$work/$1.yaml"
}
measure() { # NAME EPSILON...
  local name=$1
  shift
  for train in '' "${OTHERS[@]}"; do
    echo "$name ${train:+($train)}"
    TRAIN=$train lab/results/metric.sh "$work/$name.yaml" "$(awk '$1 == "data:" { print $2 }' "$work/$name.yaml")" "$runs" "$@"
  done
}
OTHERS=('algorithm: gd' 'algorithm: nesterov')
for shape in "${@:-plain rare heavy twice constant added robust small}"; do for s in $shape; do case $s in
  plain | rare | heavy | twice | constant)
    rows 20000 30 "$s"
    config "$s" "$work/$s-30.csv" 30 logistic replace-one
    measure "$s" 0.2 1
    ;;
  added)
    rows 20000 30 plain
    config added "$work/plain-30.csv" 30 logistic add-or-remove
    measure added 0.2 1
    ;;
  robust)
    for loss in tanh sigmoid 'smoothed-hinge(0.5)'; do
      rows 20000 30 heavy
      config "robust" "$work/heavy-30.csv" 30 "$loss" replace-one
      echo "$loss"
      measure robust 0.2 1
    done
    ;;
  wide)
    for n in 1250 6250 75000; do
      rows "$n" 784 plain
      config "wide" "$work/plain-784.csv" 784 logistic replace-one
      echo "$((n * 4 / 5)) rows"
      measure wide 1
    done
    ;;
  small) # 2,000 rows of Adult for training, all of its own for testing
    gzip -dc examples/adult/adult.csv.gz | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "split") s = i } NR == 1 || $s != "train" || ++k <= 2000' >"$work/adult.csv"
    sed "s|^data: .*|data: $work/adult.csv|; s|^  family: auto.*|  family: lines|" examples/adult/adult.yaml >"$work/small.yaml"
    measure small 0.5 # at 0.1 a fit is refused
    ;;
  esac; done; done
