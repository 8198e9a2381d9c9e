#!/usr/bin/env bash
# Measures the default choice on a table: for each epsilon, medians over RUNS fits of
# the errors on the held-out rows and of the gradient norm on the training rows, and
# the processor time of a fit. Needs only Go.
#
#   lab/results/metric.sh CONFIG [DATA [RUNS [EPSILON...]]]
#
# DATA is the table if it is not where CONFIG says; a table without a column "split" is
# given one: row i, counted from 0, is held out if i 2654435761 mod 2^32 is below a
# fifth of 2^32. TRAIN, if set, is what stands in train: in place of nothing; FAMILY is the family of the model, lines if it
# is not set; STILLPOINT is the command if it is
# already built.
#
# The figures are computed from the table without accounting: the table is public.
set -euo pipefail
config=$(realpath "$1") data=$(realpath "${2:-$(dirname "$1")/$(awk '$1 == "data:" { print $2 }' "$1")}")
runs=${3:-10}
shift $(($# < 3 ? $# : 3))
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [[ -n ${STILLPOINT:-} ]]; then ln -s "$(realpath "$STILLPOINT")" "$work/stillpoint"; else go build -o "$work/stillpoint" ./cmd/stillpoint; fi
header=$(gzip -dcf "$data" | head -n 1 || true)
if [[ ! $header =~ (^|,)split(,|$) ]]; then
  gzip -dcf "$data" | awk -v OFS=, 'NR == 1 { print $0, "split"; next }
    { print $0, ((NR - 2) * 2654435761 % 4294967296 < 858993459 ? "test" : "train") }' | gzip -1 >"$work/table.csv.gz"
  data=$work/table.csv.gz
fi
sed "s|^data: .*|data: $data|; s|^  family: .*|  family: ${FAMILY:-lines}|" "$config" >"$work/config.yaml"
printf '\ntrain: {%s}\n' "${TRAIN:-}" >>"$work/config.yaml"
median() { sort -g | awk '{ v[NR] = $1 } END { printf "%.5g", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
names="accuracy auc mae rmse"
for epsilon in "${@:-0.1 0.5 1 2}"; do for e in $epsilon; do
  "$work/stillpoint" plan "$work/config.yaml" --epsilon "$e" --json >"$work/plan"
  of() { awk -F'[:,]' -v name="\"$1\"" 'index($1, name) && !n++ { gsub(/[" ]/, "", $2); print $2 }' "$work/plan"; }
  rm -f "$work"/value-*
  for run in $(seq "$runs"); do
    rm -rf "$work/fit"
    TIMEFORMAT=%U
    { time "$work/stillpoint" fit "$work/config.yaml" --verbose --epsilon "$e" --out "$work/fit" >"$work/log" 2>&1; } 2>>"$work/value-seconds" ||
      { tail -n 1 "$work/log" >&2; exit 1; }
    "$work/stillpoint" verify "$work/fit/certificate.json" --model "$work/fit/model.json" >/dev/null
    "$work/stillpoint" evaluate "$work/fit/model.json" "$data" --where split=test >"$work/test"
    "$work/stillpoint" evaluate "$work/fit/model.json" "$data" --where split=train >"$work/train"
    for name in $names; do
      awk -v name="$name" '$1 == name { print $2 }' "$work/test" >>"$work/value-$name"
    done
    awk '$1 == "gradient_norm" { print $2 }' "$work/train" >>"$work/value-gradient"
    awk '$1 == "expected" { print $4 }' "$work/log" >>"$work/value-foreseen"
  done
  printf '| %s | %s | %s | %s |' "$e" "$(of algorithm)" "$(of steps)" "$(of passes)"
  for name in $names; do
    [[ -s $work/value-$name ]] && printf ' %s %s |' "$name" "$(median <"$work/value-$name")"
  done
  printf ' gradient %s | predicted %s |' "$(median <"$work/value-gradient")" "$(of predicted_gradient_norm)"
  [[ -s $work/value-foreseen ]] && printf ' foreseen %s |' "$(median <"$work/value-foreseen")"
  printf ' %s s |\n' "$(median <"$work/value-seconds")"
done; done
