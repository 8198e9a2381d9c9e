#!/usr/bin/env bash
# Measures what it costs to protect people with several rows: the Adult table's rows are
# dealt to people, so many each, and the model is trained with people as units, with rows
# as units at the same epsilon, and with rows at epsilon over the rows of a person, which
# protects people, too. Medians over RUNS fits. Needs only Go.
#
#   lab/results/units.sh [RUNS [EPSILON [ROWS...]]]
#
# SIZES, if set, are the numbers of rows that people have, one after the other, again and
# again, in place of ROWS each: then ROWS are how many of a person's are used at most, and
# where rows are units a person's others are left out beforehand. KINDS, if set, are the
# kinds of units tried (units rows naive); TRAIN is what stands in train: in place of
# nothing, UNITS in model.units.
#
# The figures are computed from the table without accounting: the table is public. Who has
# which row is made up here.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-5} epsilon=${2:-1}
shift $(($# < 2 ? $# : 2))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/stillpoint" ./cmd/stillpoint
median() { sort -g | awk '{ v[NR] = $1 } END { printf "%.5g", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
printf '%-5s %-6s %-8s %-14s %-7s %-9s %-8s %-9s %s\n' rows units epsilon algorithm records accuracy auc log_loss seconds
for k in ${*:-1 2 4 8}; do
  # Row i of a division's m is person i mod ceil(m/k)'s: each has k rows, or k-1, far apart
  # in the file. With SIZES people have rows that follow each other.
  gzip -dcf examples/adult/adult.csv.gz | awk -F, -v OFS=, -v k="$k" -v sizes="${SIZES:-}" '
    NR == 1 { print $0, "person", "nth"; next } { line[NR] = $0; split_of[NR] = $NF; of[$NF]++ }
    END {
      many = split(sizes, size, " ")
      for (i = 2; i <= NR; i++) {
        s = split_of[i]
        if (!many) { m = int((of[s] + k - 1) / k); print line[i], s (seen[s] % m), int(seen[s] / m); seen[s]++; continue }
        if (!(s in who) || nth[s] >= size[who[s] % many + 1]) { who[s]++; nth[s] = 0 }
        print line[i], s who[s], nth[s]++
      }
    }' | gzip -1 >"$work/people.csv.gz"
  gzip -dcf "$work/people.csv.gz" | awk -F, -v k="$k" 'NR == 1 || $NF < k' | gzip -1 >"$work/cut.csv.gz"
  for kind in ${KINDS:-units rows naive}; do
    config=$work/$kind.yaml at=$epsilon
    case $kind in
      units) person="" unit="\n  unit: {column: person, rows: $k}" data=people ;;
      *) person="\n    person: ignore" unit="" data=cut ;;
    esac
    [[ $kind = naive ]] && at=$(awk -v e="$epsilon" -v k="$k" 'BEGIN { print e / k }')
    sed "s|^data: .*|data: $data.csv.gz|; s|^  family: auto.*|  family: lines|; s|^  columns:|  columns:$person\n    nth: ignore|; s|^  where: .*|&$unit|" examples/adult/adult.yaml >"$config"
    [[ $kind = units && ${UNITS:-} ]] && sed -i "s|^  loss: .*|&\n  units: $UNITS|" "$config"
    printf '\ntrain: {%s}\n' "${TRAIN:-}" >>"$config"
    "$work/stillpoint" plan "$config" --epsilon "$at" >"$work/plan"
    rm -f "$work"/value-*
    for run in $(seq "$runs"); do
      rm -rf "$work/fit"
      TIMEFORMAT=%U
      { time "$work/stillpoint" fit "$config" --epsilon "$at" --out "$work/fit" >"$work/log" 2>&1; } 2>>"$work/value-seconds"
      "$work/stillpoint" verify "$work/fit/certificate.json" --model "$work/fit/model.json" >/dev/null
      "$work/stillpoint" evaluate "$work/fit/model.json" "$work/people.csv.gz" --where split=test >"$work/test"
      for name in accuracy auc log_loss; do
        awk -v name="$name" '$1 == name { print $2 }' "$work/test" >>"$work/value-$name"
      done
    done
    printf '%-5s %-6s %-8s %-14s %-7s %-9s %-8s %-9s %s\n' "$k" "$kind" "$at" "$(awk '$1 == "algorithm" { print $2 }' "$work/plan" | tr -d :)" \
      "$(awk '$1 == "records" { print $2 }' "$work/plan")" "$(median <"$work/value-accuracy")" "$(median <"$work/value-auc")" \
      "$(median <"$work/value-log_loss")" "$(median <"$work/value-seconds")"
  done
done
