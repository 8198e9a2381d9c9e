"""A gradient pass of softmax over 60,000 x 784 float32 rows for ten classes, in numpy: the
least of five, in seconds. Inexact and unclipped, which the passes of this project are not."""

import time

import numpy as np

n, d, k = 60_000, 784, 10
rng = np.random.default_rng(1)
x = (rng.random((n, d), dtype=np.float32) / 28) * (rng.random((n, d), dtype=np.float32) < 0.2)
w = rng.standard_normal((d, k)).astype(np.float32)
y = rng.integers(0, k, n)
best = np.inf
for _ in range(5):
    start = time.process_time()
    z = x @ w
    z -= z.max(axis=1, keepdims=True)
    p = np.exp(z)
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(n), y] -= 1
    g = x.T @ p
    best = min(best, time.process_time() - start)
print(f"{best:.4f}")
