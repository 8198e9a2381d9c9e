#!/usr/bin/env bash
# MNIST by softmax and by a network, at some epsilons: accuracy on the official test rows,
# passes and processor seconds of each fit, reading included.
#
#   results/models/digits.sh TRAIN_A TRAIN_B TEST [RUNS [LOSS [EPSILON...]]]
#
# The tables have a column label and p0 to p783, from 0 to 255. Rows have a norm of about
# 9 in units of 255; all are cut to one length by `norm: 5`.
set -euo pipefail
train_a=$(realpath "$1") train_b=$(realpath "$2") test=$(realpath "$3")
runs=${4:-1} loss=${5:-softmax}
shift $(($# < 5 ? $# : 5))
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/stillpoint" ./cmd/stillpoint
{ gzip -dc "$train_a"; gzip -dc "$train_b" | tail -n +2; } >"$work/train.csv"
{
  echo "data: train.csv"
  echo "schema:"
  echo "  columns:"
  for i in $(seq 0 783); do echo "    p$i: {number: [-255, 255]}"; done
  echo "  target: {column: label, classes: [\"0\", \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\"]}"
  echo "  norm: 5"
  echo "model: {loss: '$loss'}"
  echo "privacy: {epsilon: 1, delta: 1.0e-5, relation: replace-one}"
} >"$work/digits.yaml"
for epsilon in "${@:-1}"; do
  for run in $(seq "$runs"); do
    rm -rf "$work/fit"
    TIMEFORMAT=%U
    seconds=$({ time "$work/stillpoint" fit "$work/digits.yaml" --epsilon "$epsilon" --out "$work/fit" >"$work/log" 2>&1; } 2>&1)
    printf '%s, epsilon %s: %s, %s s, %s\n' "$loss" "$epsilon" \
      "$("$work/stillpoint" evaluate "$work/fit/model.json" "$test" | grep -E '^accuracy' | tr -s ' ')" "$seconds" "$(grep -E '^(algorithm|charged)' "$work/log" | tr -s ' ' | tr '\n' ';')"
  done
done
