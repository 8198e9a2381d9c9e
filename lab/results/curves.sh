#!/usr/bin/env bash
# Measures curves: for each table, epsilon and form of its schema, medians over RUNS fits of the errors on
# the held-out rows, and the processor time of a fit (lab/results/metric.sh). Needs only Go.
#
#   lab/results/curves.sh DATA [RUNS [TABLE...]]
#
# DATA is the folder of diamonds.csv.gz and cps1988.csv.gz; the first table is that of examples/adult.
# pnwflights, bikes and housing are run if they are named, with DATA/TABLE.csv.gz; weather, crashes, loans and women,
# too (lab/results/fresh.py).
# Forms: linear; curves (curves: auto); equal and ranks (the same with ranks: off and ranks: 0.05); pairs (also the
# interactions listed below); effects and effects5 (curves with features: effects and features: effects(5)). FORMS, if
# set, are the forms to run.
#
# The figures are computed from the tables without accounting: the tables are public.
set -euo pipefail
data=$(realpath "$1") runs=${2:-5}
shift $(($# < 2 ? $# : 2))
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for table in "${@:-adult diamonds cps1988}"; do for table in $table; do
  pairs=
  case $table in
  adult) config=examples/adult/adult.yaml file=examples/adult/adult.csv.gz ;;
  diamonds)
    config=lab/results/tables/diamonds.yaml file=$data/diamonds.csv.gz
    pairs="[[carat, clarity], [carat, color], [carat, cut], [clarity, color]]"
    ;;
  cps1988) config=lab/results/tables/cps1988.yaml file=$data/cps1988.csv.gz ;;
  bikes | housing | pnwflights | weather | crashes | loans | women)
    config=lab/results/tables/$table.yaml file=$data/$table.csv.gz
    [ $table = pnwflights ] && config=examples/flights/flights.yaml
    case $table in bikes) pairs="[[hr, workingday]]" ;; housing) pairs="[[longitude, latitude]]" ;; esac
    ;;
  *)
    echo "$0: $table: must be adult, diamonds, cps1988, pnwflights, bikes, housing, weather, crashes, loans or women" >&2
    exit 2
    ;;
  esac
  for form in ${FORMS:-linear curves ${pairs:+pairs} effects effects5}; do
    case $form in
    linear) cp "$config" "$work/$form.yaml" ;;
    curves | equal | ranks) sed '/^  family:/d; s/^schema:$/schema:\n  curves: auto/' "$config" >"$work/$form.yaml" ;;
    effects | effects5)
      features=effects
      [ $form = effects5 ] && features="effects(5)"
      sed "/^  family:/d; s/^schema:\$/schema:\n  curves: auto/; s/^model:\$/model:\n  features: $features/" "$config" >"$work/$form.yaml"
      ;;
    pairs) sed "/^  family:/d; s/^schema:\$/schema:\n  curves: auto\n  interactions: $pairs/" "$config" >"$work/$form.yaml" ;;
    esac
    train=${TRAIN:-}
    case $form in equal) train="ranks: off" ;; ranks) train="ranks: 0.05" ;; esac
    TRAIN=$train lab/results/metric.sh "$work/$form.yaml" "$file" "$runs" "${EPSILONS:-0.1 0.5 1 2}" | sed -u "s/^/$table $form /"
  done
done; done
