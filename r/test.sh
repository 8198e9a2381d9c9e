#!/usr/bin/env bash
# Builds the R package and runs R CMD check over it, with the command built from this source:
#
#   bash r/test.sh              all of it
#   bash r/test.sh --quick      the package's tests alone
#   bash r/test.sh --install    all of it, after apt installed R and what the tests use, where that is possible
#
# Without R, or without jsonlite, the script says so and does nothing. The vignette is built where knitr
# and markdown are.
set -euo pipefail
cd "$(dirname "$0")"
has() { Rscript -e "if (!requireNamespace('$1', quietly = TRUE)) q(status = 1)" >/dev/null 2>&1; }
if [ "${1:-}" = --install ] && ! { command -v Rscript && has jsonlite && has emmeans && has knitr && has markdown; } >/dev/null; then
  as=
  [ "$(id -u)" = 0 ] || as="sudo -n"
  packages="r-base-core r-cran-jsonlite r-cran-knitr r-cran-markdown r-cran-emmeans r-cran-generics r-cran-survival"
  { command -v apt-get && $as apt-get update && $as env DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -y --no-install-recommends $packages; } \
    >/dev/null 2>&1 || echo "r/test.sh: apt cannot install R and its packages here"
fi
command -v Rscript >/dev/null || { echo "r/test.sh: there is no R here: skipped"; exit 0; }
has jsonlite || { echo "r/test.sh: there is no jsonlite here: skipped"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd .. && CGO_ENABLED=0 go build -o "$work/bin/stillpoint" ./cmd/stillpoint)
export PATH="$work/bin:$PATH"
if [ "${1:-}" = --quick ]; then
  mkdir "$work/lib"
  R CMD INSTALL --no-docs -l "$work/lib" . >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
  for test in tests/*.R; do R_LIBS="$work/lib" Rscript "$test"; done
  exit 0
fi
build=() check=()
if ! has knitr || ! has markdown; then
  build=(--no-build-vignettes) check=(--ignore-vignettes)
fi
here=$PWD
cd "$work"
R CMD build ${build[@]+"${build[@]}"} "$here"
# Neither a network nor LaTeX is needed for the check.
echo 'options(repos = character())' >"$work/profile"
export R_PROFILE_USER="$work/profile"
_R_CHECK_CRAN_INCOMING_=false _R_CHECK_FORCE_SUGGESTS_=false R CMD check --no-manual ${check[@]+"${check[@]}"} stillpoint_*.tar.gz
# A package that is clean has neither errors nor warnings nor notes. That this machine lacks a package
# which the package only suggests is no fault of the package, and makes one note.
log=stillpoint.Rcheck/00check.log
if grep -q '^Packages\{0,1\} suggested but not available' "$log" && grep -qx 'Status: 1 NOTE' "$log"; then
  echo "r/test.sh: clean, as far as it can be checked without the packages that it suggests"
elif ! grep -qx 'Status: OK' "$log"; then
  echo "r/test.sh: R CMD check is not clean"
  exit 1
fi
