"""Seconds of a clipped logistic gradient in numpy's float32: medians of runs.

pass.py N D RUNS: rows X, two products by OpenBLAS with the slopes between them.
OPENBLAS_NUM_THREADS says how many threads.
"""

import statistics
import sys
import time

import numpy as np

n, d, runs = (int(v) for v in sys.argv[1:])
r = np.random.default_rng(1)
x = ((r.random((n, d), dtype=np.float32) - 0.5) / 28).astype(np.float32)
y = np.where(r.random(n) < 0.5, -1, 1).astype(np.float32)
w = r.standard_normal(d).astype(np.float32)
seconds = []
for _ in range(runs + 1):
    start = time.perf_counter()
    s = np.clip(-y / (1 + np.exp(y * (x @ w))), -1, 1)
    s @ x
    seconds.append(time.perf_counter() - start)
print(statistics.median(seconds[1:]))
