#!/usr/bin/env bash
# Fits a generated table in one process, over Dask and over Spark, in one run, and kills a process of Dask in
# the middle of a fit: lab/results/speed.md. Then compares weights to the bit. Installs Dask and Spark into an
# environment of its own.
#
#   lab/results/shards.sh [ROWS]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet "dask[dataframe]" distributed pandas pyarrow pyspark
go build -o "$work/venv/bin/stillpoint" ./cmd/stillpoint
export PYTHONPATH="$PWD/python/src" PATH="$work/venv/bin:$PATH"
python -W ignore lab/results/shards.py "$@"
# By coins that can be drawn again: the weights of a fit over Dask, of which a process is killed, are those of one process.
PYTHON="$work/venv/bin/python" go test -tags results -count=1 ./curator -run TestDaskToTheBit -v
