#!/usr/bin/env bash
# Builds the wheel for this machine, installs it into a fresh virtual environment with
# what the tests compare it with, and runs the tests. Without Python, or where its
# packages cannot be had, it says so and does nothing.
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! "$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
  echo "python/test.sh: there is no Python 3.10 with venv here: skipped"
  exit 0
fi
if ! "$python" -m venv "$work/venv" >"$work/pip" 2>&1; then
  tail -n 1 "$work/pip"
  echo "python/test.sh: no virtual environment can be made here: skipped"
  exit 0
fi
bin="$work/venv/bin"
if ! "$bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 hatchling 2>"$work/pip"; then
  tail -n 1 "$work/pip"
  echo "python/test.sh: Python packages cannot be had here: skipped"
  exit 0
fi
"$bin/python" build.py --version 0.0.0.dev0 --out "$work/dist" "$(go env GOOS)/$(go env GOARCH)"
if ! "$bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 2 \
  -r tests/requirements.txt 2>"$work/pip"; then
  tail -n 1 "$work/pip"
  echo "python/test.sh: what the tests compare with cannot be had here: skipped"
  exit 0
fi
"$bin/pip" install --quiet --disable-pip-version-check "$work"/dist/*.whl
ls -l "$work"/dist/*.whl
# Away from the source, so that it is the wheel that is tested.
cd tests
PATH="$bin:$PATH" "$bin/python" -m pytest -q -p no:cacheprovider -c ../pyproject.toml --rootdir . "$@" .
