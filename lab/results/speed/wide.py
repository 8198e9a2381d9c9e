"""Processor milliseconds of gradient passes in numpy on one thread: medians of runs.

wide.py RUNS float32|float64: softmax of ten classes over 100,000 x 50 rows, then the logistic loss over 50,000 x 500 and
50,000 x 1,000 rows and a clipped squared loss over 50,000 x 700, as the benchmark Wide of curator/internal/engine. Products
by OpenBLAS (OPENBLAS_NUM_THREADS=1) with the slopes between them. Softmax is not clipped.
"""

import statistics
import sys
import time

import numpy as np

runs, of = int(sys.argv[1]), np.dtype(sys.argv[2])
r = np.random.default_rng(1)


def rows(n, d):
    return ((r.random((n, d), dtype=np.float32) - 0.5) / 28).astype(of)


def timed(name, gradient):
    gradient()
    times = []
    for _ in range(runs):
        start = time.process_time()
        gradient()
        times.append(1e3 * (time.process_time() - start))
    print(f"{name} {statistics.median(times):.2f}")


def softmax(n, d, k):
    x, w, y = rows(n, d), r.standard_normal((d, k)).astype(of), r.integers(0, k, n)
    at = np.arange(n)

    def gradient():
        z = x @ w
        z -= z.max(axis=1, keepdims=True)
        np.exp(z, out=z)
        z /= z.sum(axis=1, keepdims=True)
        z[at, y] -= 1
        return x.T @ z

    timed(f"softmax({k})/{n}x{d}", gradient)


def one(name, n, d, slopes):
    x, w, y = rows(n, d), r.standard_normal(d).astype(of), np.where(r.random(n) < 0.5, -1, 1).astype(of)
    timed(f"{name}/{n}x{d}", lambda: slopes(x @ w, y) @ x)


softmax(100_000, 50, 10)
for d in 500, 1000:
    one("logistic", 50_000, d, lambda z, y: np.clip(-y / (1 + np.exp(y * z)), -1, 1))
one("huber(0.1)", 50_000, 700, lambda z, y: np.clip(z - y, -0.1, 0.1))
