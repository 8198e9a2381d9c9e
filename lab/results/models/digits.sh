#!/usr/bin/env bash
# MNIST by softmax and by a network, at some epsilons: accuracy on the official test rows,
# passes and processor seconds of each fit, reading included.
#
#   lab/results/models/digits.sh TRAIN_A TRAIN_B TEST [RUNS [LOSS [EPSILON...]]]
#
# The tables have a column label, the first one, and p0 to p783, from 0 to 255. Rows have a norm of about
# 9 in units of 255; all are cut to one length by `norm: 5`. In the environment:
#   CURVES=auto   is schema.curves; with knots between the bounds of a pixel, 0 and 255
#   PARITY=1      tells odd digits from even ones (LOSS must be logistic)
#   ROWS=20000    fits to the first rows only
#   STILLPOINT    is the command if it is already built
set -euo pipefail
train_a=$(realpath "$1") train_b=$(realpath "$2") test=$(realpath "$3")
runs=${4:-1} loss=${5:-softmax}
shift $(($# < 5 ? $# : 5))
cd "$(dirname "$0")/../../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ -n ${STILLPOINT:-} ]]; then ln -s "$(realpath "$STILLPOINT")" "$work/stillpoint"; else go build -o "$work/stillpoint" ./cmd/stillpoint; fi
low=-255 classes='"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"'
[[ -n ${CURVES:-} ]] && low=0
[[ -n ${PARITY:-} ]] && classes='"0", "1"'
digits() { awk -F, -v OFS=, -v parity="${PARITY:-0}" -v rows="${1:-inf}" 'NR == 1 { print; next } NR > rows + 1 { exit }
  { if (parity) $1 %= 2; print }'; }
{ gzip -dc "$train_a"; gzip -dc "$train_b" | tail -n +2; } 2>/dev/null | digits "${ROWS:-60000}" >"$work/train.csv" || true
gzip -dc "$test" | digits 10000 >"$work/test.csv"
test=$work/test.csv
{
  echo "data: train.csv"
  echo "schema:"
  [[ -n ${CURVES:-} ]] && echo "  curves: $CURVES"
  echo "  columns:"
  for i in $(seq 0 783); do echo "    p$i: {number: [$low, 255]}"; done
  echo "  target: {column: label, classes: [$classes]}"
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
