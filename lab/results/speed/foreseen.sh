#!/usr/bin/env bash
# Fits tables of many kinds and prints what plan foresees beside what the fits take: the rows of the table "What plans
# foresee" of lab/results/speed.md, medians over TURNS plans and fits.
#
#   lab/results/speed/foreseen.sh [TURNS [FOLDER]]      Adult, flights and made-up tables, which are written into FOLDER
#
# DIAMONDS and MNIST, if set, name the tables diamonds.csv.gz and mnist_test.csv.gz (label,p0,...,p783), which are not
# a part of the project. ONLY, if set, is a pattern of the names of fits. It needs Go, awk, gzip and Python 3.
set -euo pipefail
cd "$(dirname "$0")/../../.."
turns=${1:-3} folder=$(realpath "${2:-$(mktemp -d)}")
mkdir -p "$folder"
go build -o "$folder/stillpoint" ./cmd/stillpoint
configs=()
# config NAME TEXT writes a configuration, unless ONLY leaves it out.
config() {
  [[ $1 =~ ${ONLY:-} ]] || return 0
  printf '%s\n' "$2" >"$folder/$1.yaml"
  configs+=("$folder/$1.yaml")
}
# of CONFIG DATA LOSS is an example's configuration with another place of its table and another loss.
of() { sed "s|^data: .*|data: $2|; s|^  loss: .*|  loss: $3|; s|^  family: .*|  family: lines|" "$1"; }
curves='/^  family:/d; s/^schema:$/schema:\n  curves: auto/'

adult=examples/adult/adult.yaml table=$PWD/examples/adult/adult.csv.gz
config adult "$(of $adult "$table" logistic)"
config adult-curves "$(of $adult "$table" logistic | sed "$curves")"
config adult-hinge "$(of $adult "$table" hinge)"
config adult-smoothed-hinge "$(of $adult "$table" 'smoothed-hinge(0.5)')"
config adult-network "$(of $adult "$table" '{network: {hidden: [16], activation: tanh, output: logistic}}')"
config adult-effects "$(of $adult "$table" logistic | sed "$curves; s/^model:$/model:\n  features: effects/")"
config adult-gd "$(of $adult "$table" logistic; echo 'train: {algorithm: gd}')"
config adult-spiderboost "$(of $adult "$table" logistic; echo 'train: {algorithm: spiderboost}')"
config adult-dp-sgd "$(of $adult "$table" logistic; echo 'train: {algorithm: dp-sgd}')"

flights=examples/flights/flights.yaml table=$PWD/examples/flights/pnwflights.csv.gz
config flights-huber "$(of $flights "$table" 'huber(0.01)')"
config flights-pinball "$(of $flights "$table" 'pinball(0.9)')"

if [[ -n ${DIAMONDS:-} ]]; then
  header=$(gzip -dcf "$DIAMONDS" | head -n 1 || true)
  if [[ ! $header =~ ,split ]]; then
    gzip -dcf "$DIAMONDS" | awk -v OFS=, 'NR == 1 { print $0, "split"; next }
      { print $0, ((NR - 2) * 2654435761 % 4294967296 < 858993459 ? "test" : "train") }' | gzip -9n >"$folder/diamonds.csv.gz"
  fi
  diamonds=lab/results/tables/diamonds.yaml table=$folder/diamonds.csv.gz
  config diamonds-squared "$(of $diamonds "$table" 'squared(0.5)')"
  config diamonds-huber "$(of $diamonds "$table" 'huber(0.1)')"
  config diamonds-absolute "$(of $diamonds "$table" absolute)"
  config diamonds-pinball "$(of $diamonds "$table" 'pinball(0.9)')"
  config diamonds-effects "$(of $diamonds "$table" 'huber(0.1)' | sed "$curves; s/^model:$/model:\n  features: effects/")"
  config diamonds-effects5 "$(of $diamonds "$table" 'huber(0.1)' | sed "$curves; s/^model:$/model:\n  features: effects(5)/")"
fi

if [[ -n ${MNIST:-} ]]; then
  columns=$(for j in $(seq 0 783); do printf '    p%d: {number: [0, 255]}\n' "$j"; done)
  config mnist "data: $(realpath "$MNIST")
schema:
  columns:
$columns
  target: {column: label, classes: [\"0\", \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\"]}
model: {loss: softmax}
privacy: {epsilon: 2, delta: 1e-6, relation: replace-one}"
fi

# made NAME ROWS NUMBERS TARGET LOSS [MORE] writes a table of numbers of four decimals, if it is not there, and its
# configuration. TARGET is class, number, count or ten; MORE is a line of the schema's columns, for a column h of 5,000
# texts that the table has, too.
made() {
  [[ $1 =~ ${ONLY:-} ]] || return 0
  local csv=$folder/made-$2-$3-$4.csv j target columns
  if ! [ -f "$csv" ]; then
    awk -v n="$2" -v d="$3" -v kind="$4" 'BEGIN {
      srand(1)
      printf "y,h"
      for (j = 1; j <= d; j++) printf ",x%d", j
      print ""
      for (i = 0; i < n; i++) {
        cells = ""; score = 2 * rand() - 1
        for (j = 1; j <= d; j++) { v = rand(); score += (j % 2 ? v : -v); cells = cells sprintf(",%.4f", v) }
        if (kind == "class") y = score > 0
        else if (kind == "ten") y = int(10 / (1 + exp(-2 * score)))
        else if (kind == "count") y = int(6 / (1 + exp(-score)))
        else y = sprintf("%.4f", 1 / (1 + exp(-score)))
        print y ",t" int(5000 * rand()) cells
      }
    }' >"$csv.part"
    mv "$csv.part" "$csv"
  fi
  case $4 in
  class) target='classes: ["0", "1"]' ;;
  ten) target='classes: ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]' ;;
  count) target='number: [0, 10]' ;;
  number) target='number: [0, 1]' ;;
  esac
  columns=$(for j in $(seq "$3"); do printf '    x%d: {number: [0, 1]}\n' "$j"; done)
  config "$1" "data: $csv
schema:
  columns:
    h: ${6:-ignore}
$columns
  target: {column: y, $target}
model: {loss: $5}
privacy: {epsilon: 2, delta: 1e-6, relation: replace-one}"
}
made huber 100000 10 number 'huber(0.5)'
made poisson 100000 10 count 'poisson(2)'
made softmax 50000 20 ten softmax
made numbers-500 5000 500 class logistic
made hash-1000 50000 5 class logistic '{hash: 1000}'
made absolute 200000 20 number absolute
made logistic-1e6 1000000 20 class logistic

python3 lab/results/speed/foreseen.py --turns "$turns" "$folder/stillpoint" "${configs[@]}"
