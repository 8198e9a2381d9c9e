#!/usr/bin/env bash
# Fits tables of made-up rows of growing size, and prints what plan foresees beside what the fit takes: a row of the
# table "Whole fits by number of rows" of lab/results/speed.md for each size, and the ratios, which that table leaves out.
#
#   lab/results/speed/rows.sh                       10,000 to 10,000,000 rows: 1.6 GB of files, which are kept
#   lab/results/speed/rows.sh FOLDER 1000 30000     these numbers of rows, with the files in FOLDER
#   lab/results/speed/rows.sh FOLDER 100000000      14 GB of table and 8 GB of private file
#
# Fits of more than 20,000,000 rows hold two gigabytes in memory, and the other rows in a private file in the folder.
# It needs Go, awk and Python 3, which measures.
set -euo pipefail
cd "$(dirname "$0")/../../.."
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
shift || true
if [ $# = 0 ]; then set -- 10000 100000 1000000 10000000; fi
go build -o "$folder/stillpoint" ./cmd/stillpoint
for rows; do
  base="$folder/$rows"
  if ! [ -f "$base.csv" ]; then
    awk -v n="$rows" 'BEGIN {
      srand(1)
      printf "y"
      for (j = 1; j <= 20; j++) printf ",x%d", j
      print ""
      for (i = 0; i < n; i++) {
        cells = ""; score = 2 * rand() - 1
        for (j = 1; j <= 20; j++) { v = rand(); score += (j % 2 ? v : -v); cells = cells sprintf(",%.4f", v) }
        print (score > 0 ? 1 : 0) cells
      }
    }' >"$base.part"
    mv "$base.part" "$base.csv"
  fi
  {
    printf 'data: %s\nschema:\n  columns:\n' "$rows.csv"
    for j in $(seq 20); do printf '    x%d: {number: [0, 1]}\n' "$j"; done
    printf '  target: {column: y, classes: ["0", "1"]}\nmodel: {loss: logistic}\n'
    printf 'privacy: {epsilon: 1, delta: 1e-9, relation: replace-one}\n'
    if [ "$rows" -gt 20000000 ]; then printf 'memory: {gigabytes: 2, folder: "%s"}\n' "$(realpath "$folder")"; fi
  } >"$base.yaml"
  python3 lab/results/speed/foreseen.py "$folder/stillpoint" "$base.yaml"
done
