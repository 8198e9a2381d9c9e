#!/usr/bin/env bash
# Linear models of very many features: a table of 40,000 rows of ten numbers and one
# column of an open vocabulary, hashed to BUCKETS, whose values have effects; plain, and on
# rows mapped to 50 and 500 features (model.reduce). Accuracy on 10,000 further rows, and
# processor seconds of a fit with reading.
#
#   lab/results/models/wide.sh [BUCKETS...]
set -euo pipefail
cd "$(dirname "$0")/../../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/stillpoint" ./cmd/stillpoint
table() { # rows, seed, towns
  awk -v n="$1" -v seed="$2" -v towns="$3" 'BEGIN { srand(7); for (t = 0; t < towns; t++) effect[t] = 2 * (rand() - .5)
    for (j = 0; j < 10; j++) weight[j] = 2 * (rand() - .5)
    srand(seed); printf "town"; for (j = 0; j < 10; j++) printf ",a%d", j; print ",ill"
    for (i = 0; i < n; i++) { t = int(towns * rand() * rand()); z = 3 * effect[t]; line = "t" t
      for (j = 0; j < 10; j++) { x = 2 * rand() - 1; z += 2 * weight[j] * x; line = line sprintf(",%.3f", x) }
      print line "," (rand() < 1 / (1 + exp(-z)) ? "yes" : "no") } }'
}
for buckets in "${@:-2000 20000}"; do for b in $buckets; do
  table 40000 1 "$((b / 2))" >"$work/train.csv"
  table 10000 2 "$((b / 2))" >"$work/test.csv"
  for reduce in "" "jl(50)" "jl(500)"; do
    {
      echo "data: train.csv"
      echo "schema:"
      echo "  columns:"
      echo "    town: {hash: $b}"
      for j in $(seq 0 9); do echo "    a$j: {number: [-1, 1]}"; done
      echo "  target: {column: ill, classes: [\"no\", \"yes\"]}"
      echo "model: {loss: logistic${reduce:+, reduce: $reduce}}"
      echo "privacy: {epsilon: 2, delta: 1.0e-5, relation: replace-one}"
    } >"$work/wide.yaml"
    for run in 1 2 3 4 5; do
      rm -rf "$work/fit"
      TIMEFORMAT=%U
      seconds=$({ time "$work/stillpoint" fit "$work/wide.yaml" --out "$work/fit" >"$work/log" 2>&1; } 2>&1)
      echo "$("$work/stillpoint" evaluate "$work/fit/model.json" "$work/test.csv" | awk '$1 == "accuracy" { print $2 }') $seconds" >>"$work/runs"
    done
    sort -g "$work/runs" | awk -v what="$b buckets ${reduce:-plain}" 'NR == 3 { print what ": accuracy " $1 ", " $2 " s" }'
    rm "$work/runs"
  done
done; done
