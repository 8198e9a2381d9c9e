#!/usr/bin/env bash
# Passes of the exact gradient beside numpy's float32 and, where OLD is the path of a
# checkout of an earlier version, beside that, in turn: processor time on one thread, time
# by the clock on two. Prints every turn, and medians of the turns' ratios. Needs Python
# with numpy (PYTHON); TURNS, THREADS and SHAPES may say how often, on how many, of what.
set -euo pipefail
cd "$(dirname "$0")/../../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
engine=curator/internal/engine
go test -c -o "$work/new" ./$engine
if [ -n "${OLD:-}" ]; then
  cp $engine/speed_bench_test.go "$OLD/$engine/"
  (cd "$OLD" && go test -c -o "$work/old" ./$engine)
fi
# Milliseconds by the clock and of processors, of which pick takes what counts.
measure() { # binary shape threads
  GOMAXPROCS=$3 "$work/$1" -test.run '^$' -test.bench "Speed/$2/goroutines=$3" -test.benchtime "${RUNS}x" |
    awk '/^BenchmarkSpeed/ { print $3 / 1e6, $5 }'
}
pick() { awk -v t="$1" '{ print t == 1 ? $2 : $1 }'; }
median() { sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'; }
for shape in ${SHAPES:-1e5x100 1e6x100 6e4x784 1e6x20 adult}; do
  case $shape in
    1e5x100) n=100000 d=100 RUNS=40 ;; 1e6x100) n=1000000 d=100 RUNS=5 ;; 6e4x784) n=60000 d=784 RUNS=8 ;;
    1e6x20) n=1000000 d=20 RUNS=12 ;; adult) n=32561 d=113 RUNS=200 ;;
  esac
  for threads in ${THREADS:-1 2}; do
    rm -f "$work/numpy" "$work/earlier"
    for turn in $(seq "${TURNS:-5}"); do
      new=$(measure new "$shape" $threads | pick $threads)
      numpy=$(OPENBLAS_NUM_THREADS=$threads "${PYTHON:-python3}" lab/results/speed/pass.py $n $d $RUNS | pick $threads)
      old=0
      [ -z "${OLD:-}" ] || old=$(measure old "$shape" $threads | pick $threads)
      awk -v s="$shape" -v t=$threads -v a="$new" -v b="$numpy" -v c="$old" \
        'BEGIN { printf "%s threads=%d: exact %.2f ms, numpy %.2f ms, earlier %.2f ms; %.2f times numpy, earlier %.2f times this\n", s, t, a, b, c, a / b, c / a }'
      awk -v a="$new" -v b="$numpy" 'BEGIN { print a / b }' >> "$work/numpy"
      awk -v a="$new" -v c="$old" 'BEGIN { print c / a }' >> "$work/earlier"
    done
    echo "$shape threads=$threads: median $(median < "$work/numpy") times numpy, earlier $(median < "$work/earlier") times this"
  done
done
