#!/usr/bin/env bash
# Runs the tests of stillpoint.spark on a Spark of this machine:
#
#   bash python/spark.sh               all of them
#   bash python/spark.sh -k executor   those of a name; all arguments go to pytest
#
# Spark is installed from the index of packages once (half a gigabyte) and kept in the user's cache
# folder, as python/test.sh keeps what its tests compare with. Without Java 17 or newer, or where
# Python's packages cannot be had, the script says so and does nothing.
set -euo pipefail
cd "$(dirname "$0")"
spark="pyspark==4.1.*"
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv="$work/venv"
skipped() {
  if [ -s "$work/said" ]; then tail -n 1 "$work/said"; fi
  echo "python/spark.sh: $1: skipped"
  exit 0
}

java=${JAVA_HOME:+$JAVA_HOME/bin/}java
version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1) || version=
if [ "${version:-0}" -lt 17 ]; then
  skipped "there is no Java 17 or newer here"
fi
bash test.sh --environment "$venv"
if ! [ -x "$venv/bin/stillpoint" ]; then
  skipped "there is no environment for the tests"
fi
key=$("$python" -c 'import hashlib, sys; print(hashlib.sha256((sys.argv[1] + sys.version).encode()).hexdigest()[:16])' "$spark")
packages="${XDG_CACHE_HOME:-$HOME/.cache}/stillpoint/spark-$key/site-packages"
if ! [ -d "$packages" ]; then
  mkdir -p "$(dirname "$packages")"
  "$python" -m venv "$work/pip" >"$work/said" 2>&1 || skipped "no virtual environment can be made here"
  "$work/pip/bin/pip" install --quiet --disable-pip-version-check --timeout 20 --retries 1 --no-compile \
    --target "$work/packages" "$spark" 2>"$work/said" || skipped "Spark cannot be had here"
  # By a name of its own first: another run may do the same at this time.
  mv "$work/packages" "$packages.$$"
  mv -T "$packages.$$" "$packages" 2>/dev/null || rm -rf "$packages.$$"
fi
echo "$packages" >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/spark.pth"
"$venv/bin/python" -c 'import pyspark, sys; print(f"Spark {pyspark.__version__}, Java {sys.argv[1]}, Python {sys.version.split()[0]}")' "$version"
# Away from the source, so that it is the wheel that is tested.
cd tests
SPARK_LOCAL_DIRS="$work" PATH="$venv/bin:$PATH" \
  "$venv/bin/python" -m pytest -v -p no:cacheprovider -c ../pyproject.toml --rootdir . test_spark.py "$@"
