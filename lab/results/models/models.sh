#!/usr/bin/env bash
# The figures of lab/results/accuracy.md: fits of networks and of the linear models beside
# them. Writes to a folder of its own and prints accuracies. Takes about ten minutes.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/stillpoint" ../../../cmd/stillpoint
table() {
  awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed); print "a,b,same"
    for (i = 0; i < n; i++) { a = 2*rand()-1; b = 2*rand()-1; printf "%.5f,%.5f,%s\n", a, b, (a*b > 0 ? "yes" : "no") } }'
}
table 30000 1 >"$work/xor.csv"
table 10000 2 >"$work/test.csv"
cp xor.yaml "$work"
sed 's/loss: .*/loss: logistic/' xor.yaml >"$work/xor-logistic.yaml"
for epsilon in 1 2; do
  sed "s#^data: #data: $PWD/../../../examples/adult/#; s|^  family: auto.*|  family: lines|; s/^  loss: .*/  loss: {network: {hidden: [16], activation: tanh, output: logistic}}/; s/epsilon: .*/epsilon: $epsilon/" \
    ../../../examples/adult/adult.yaml >"$work/adult-$epsilon.yaml"
done
# Countries hashed, and sex crossed with marital status.
sed "s#^data: #data: $PWD/../../../examples/adult/#; s|^  family: auto.*|  family: lines|; s/epsilon: .*/epsilon: .5/; s/^  where: /  interactions: [[sex, marital_status]]\n&/" ../../../examples/adult/adult.yaml |
  awk '/native_country:/ { print "    native_country: {hash: 30}"; skip = 1; next } /split:/ { skip = 0 } !skip' >"$work/adult-hashed.yaml"
sed "s#^data: #data: $PWD/../../../examples/adult/#; s|^  family: auto.*|  family: lines|; s/^  loss: .*/&\n  reduce: jl(40)/" ../../../examples/adult/adult.yaml >"$work/adult-jl.yaml"
fit() { # configuration, table to measure on, its filter
  for turn in 1 2 3 4 5; do
    "$work/stillpoint" fit "$work/$1.yaml" --out "$work/out-$1-$turn" >/dev/null 2>&1
    echo "$1: $("$work/stillpoint" evaluate "$work/out-$1-$turn/model.json" "$2" ${3:+--where "$3"} 2>/dev/null | grep -E '^(accuracy|auc)' | tr -s ' \n' ' ')"
  done
}
fit xor "$work/test.csv"
fit xor-logistic "$work/test.csv"
fit adult-1 ../../../examples/adult/adult.csv.gz split=test
fit adult-2 ../../../examples/adult/adult.csv.gz split=test
fit adult-hashed ../../../examples/adult/adult.csv.gz split=test
fit adult-jl ../../../examples/adult/adult.csv.gz split=test
