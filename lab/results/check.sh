#!/usr/bin/env bash
# Recomputes a sample of the figures of lab/results/ and compares each with what its page says, within the
# figure's own interval. Lists those that are not reproduced, and then fails. Needs Go and Python 3; takes some
# minutes of one processor. Meant for before a release.
#
#   lab/results/check.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/lab" ./lab/cmd/lab
python3 lab/results/check.py "$work/lab"
