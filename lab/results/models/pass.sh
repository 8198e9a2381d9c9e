#!/usr/bin/env bash
# Processor seconds of a pass over 60,000 x 784 rows for ten classes, exact and in numpy's
# float32, each on one thread, three times in turn. Needs Python with numpy (PYTHON).
set -euo pipefail
cd "$(dirname "$0")/../../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go test -c -o "$work/engine" ./curator/internal/engine
for turn in 1 2 3; do
  exact=$(GOMAXPROCS=1 "$work/engine" -test.run '^$' -test.bench 'Classes' -test.benchtime 3x | awk '/^BenchmarkClasses/ { print $3 / 1e9 }')
  numpy=$(OPENBLAS_NUM_THREADS=1 "${PYTHON:-python3}" lab/results/models/pass.py)
  awk -v a="$exact" -v b="$numpy" 'BEGIN { printf "exact %.3f s, numpy %.3f s, ratio %.2f\n", a, b, a / b }'
done
