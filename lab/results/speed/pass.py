"""Milliseconds of a clipped logistic gradient in numpy's float32, by the clock and of
processors: means of runs.

pass.py N D RUNS: rows X, two products by OpenBLAS with the slopes between them.
OPENBLAS_NUM_THREADS says how many threads.
"""

import sys
import time

import numpy as np

n, d, runs = (int(v) for v in sys.argv[1:])
r = np.random.default_rng(1)
x = ((r.random((n, d), dtype=np.float32) - 0.5) / 28).astype(np.float32)
y = np.where(r.random(n) < 0.5, -1, 1).astype(np.float32)
w = r.standard_normal(d).astype(np.float32)


def gradient():
    s = np.clip(-y / (1 + np.exp(y * (x @ w))), -1, 1)
    return s @ x


gradient()
wall, processor = time.perf_counter(), time.process_time()
for _ in range(runs):
    gradient()
print(1e3 * (time.perf_counter() - wall) / runs, 1e3 * (time.process_time() - processor) / runs)
