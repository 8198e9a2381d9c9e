"""Processor time of a model of numbers as an ONNX graph of each form, on one thread, beside numpy, for a million rows.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python lab/results/speed/graph.py STILLPOINT MODEL [TURNS]

It needs numpy and onnxruntime. The forms take turns. It prints medians, and how far the outputs of each form are from
those of the graph with an input for each column.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

ROWS = 1_000_000
FORMS = {"columns": [], "matrix": ["--matrix"], "float32": ["--float32"], "matrix, float32": ["--matrix", "--float32"]}
command, model, turns = sys.argv[1], sys.argv[2], int((sys.argv[3:] or ["5"])[0])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
sessions = {}
with tempfile.TemporaryDirectory() as folder:
    for form, flags in FORMS.items():
        path = os.path.join(folder, "graph.onnx")
        subprocess.run([command, "export", model, "--onnx", path, *flags], check=True)
        sessions[form] = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

names = [i.name for i in sessions["columns"].get_inputs()]
x = np.random.default_rng(1).random((ROWS, len(names)))
single = x.astype(np.float32)


def one_a_column(x):
    return {name: np.ascontiguousarray(c).reshape(-1, 1) for name, c in zip(names, x.T)}


inputs = {
    "columns": one_a_column(x),
    "matrix": {"numbers": x},
    "float32": one_a_column(single),
    "matrix, float32": {"numbers": single},
}
w = np.random.default_rng(2).normal(size=len(names))
w32 = w.astype(np.float32)
scores = {form: lambda s=s, i=inputs[form]: s.run(["probability", "margin"], i) for form, s in sessions.items()}
scores["numpy"] = lambda: 1 / (1 + np.exp(-((2 * x - 1) @ w + 1)))
scores["numpy, float32"] = lambda: 1 / (1 + np.exp(-((2 * single - 1) @ w32 + 1)))
times, first = {}, None
for turn in range(turns):
    for form, score in scores.items():
        begin = time.process_time()
        got = score()
        times.setdefault(form, []).append(time.process_time() - begin)
        if turn == 0 and form in sessions:
            first = first or got
            print(f"{form}: at most {max(float(np.abs(a - b).max()) for a, b in zip(got, first)):.1e} from columns")
for form, list_ in times.items():
    print(f"{form:16} {statistics.median(list_):.2f} s, {min(list_):.2f} to {max(list_):.2f}")
