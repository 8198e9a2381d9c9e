#!/usr/bin/env bash
# Builds the documentation site in a fresh virtual environment and checks its links:
#
#   bash docs/test.sh            into a temporary folder
#   bash docs/test.sh --out DIR  into DIR
#
# Without Python, or where Zensical cannot be had, the script says so and does nothing.
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=("--out" "$work/site")
if [ $# -gt 0 ]; then out=("$@"); fi
skipped() { echo "docs/test.sh: $1: skipped"; exit 0; }
"$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || skipped "there is no Python 3.10 with venv here"
"$python" -m venv "$work/venv" >/dev/null 2>&1 || skipped "no virtual environment can be made here"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 zensical==0.0.73 2>/dev/null ||
  skipped "Zensical cannot be had here"
"$work/venv/bin/python" build.py "${out[@]}"
