#!/usr/bin/env bash
# Builds the wheel for this machine, installs it into a fresh virtual environment beside
# what the tests compare it with, and runs the tests:
#
#   bash python/test.sh                    all of them
#   bash python/test.sh -k chunks          those of a name; all arguments go to pytest
#   bash python/test.sh --environment DIR  only the environment, in a folder of its own
#
# What the tests compare with is kept in the user's cache folder, under a name that says
# which it is, so that it is installed once. Without Python, or where its packages cannot
# be had, the script says so and does nothing.
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv="$work/venv"
only=
if [ "${1:-}" = --environment ]; then
  venv=${2:?"--environment: must name a folder"}
  only=yes
fi
skipped() {
  if [ -s "$work/said" ]; then tail -n 1 "$work/said"; fi
  echo "python/test.sh: $1: skipped"
  exit 0
}

if ! "$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
  skipped "there is no Python 3.10 with venv here"
fi
key=$("$python" -c 'import hashlib, sys
print(hashlib.sha256(open("tests/requirements.txt", "rb").read() + sys.version.encode()).hexdigest()[:16])')
# By this name hypothesis knows that it is not the code under test, and does not read it.
packages="${XDG_CACHE_HOME:-$HOME/.cache}/stillpoint/packages-$key/site-packages"
if ! [ -d "$packages" ]; then
  mkdir -p "$(dirname "$packages")"
  "$python" -m venv "$work/pip" >"$work/said" 2>&1 || skipped "no virtual environment can be made here"
  "$work/pip/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 --no-compile \
    --target "$work/packages" pip hatchling -r tests/requirements.txt 2>"$work/said" ||
    skipped "Python packages cannot be had here"
  # By a name of its own first: another run may do the same at this time.
  mv "$work/packages" "$packages.$$"
  mv -T "$packages.$$" "$packages" 2>/dev/null || rm -rf "$packages.$$"
fi
"$python" -m venv --without-pip "$venv" >"$work/said" 2>&1 || skipped "no virtual environment can be made here"
bin="$venv/bin"
echo "$packages" >"$("$bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/packages.pth"
"$bin/python" build.py --version 0.0.0.dev0 --out "$work/dist" "$(go env GOOS)/$(go env GOARCH)"
"$bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-index "$work"/dist/*.whl
if [ -n "$only" ]; then exit 0; fi
ls -l "$work"/dist/*.whl
# Away from the source, so that it is the wheel that is tested.
cd tests
HYPOTHESIS_STORAGE_DIRECTORY="$work/hypothesis" PATH="$bin:$PATH" \
  "$bin/python" -m pytest -q -p no:cacheprovider -c ../pyproject.toml --rootdir . "$@"
