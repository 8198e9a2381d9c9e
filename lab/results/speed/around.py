"""Processor time of check and predict, and of an exported graph in onnxruntime beside numpy, for a million rows of 20
numbers. It needs numpy, pyarrow and onnxruntime.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python lab/results/speed/around.py FOLDER TURNS BINARY...

The binaries are commands of several commits, which take turns; the outputs of the others are compared with those of
the first. The tables stay in the folder.
"""

import os
import resource
import statistics
import subprocess
import sys
import time

import numpy as np
import onnxruntime
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

ROWS, COLUMNS = 1_000_000, 20
folder, turns, binaries = sys.argv[1], int(sys.argv[2]), [os.path.abspath(b) for b in sys.argv[3:]]
os.makedirs(folder, exist_ok=True)
os.chdir(folder)

draw = np.random.default_rng(1)
long = draw.random((ROWS, COLUMNS))  # as many digits as a number has
x = np.round(long, 4)
y = np.where(2 * draw.random(ROWS) - 1 + x[:, ::2].sum(1) - x[:, 1::2].sum(1) > 0, "1", "0")
names = [f"x{j + 1}" for j in range(COLUMNS)]
table = pa.table({"y": y, **dict(zip(names, x.T))})
pa.parquet.write_table(table, "four.parquet")
pa.csv.write_csv(table, "four.csv", pa.csv.WriteOptions(quoting_style="none"))
pa.parquet.write_table(pa.table({"y": y, **dict(zip(names, long.T))}), "long.parquet")
with open("config.yaml", "w") as f:
    f.write("data: four.parquet\nschema:\n  columns:\n" + "".join(f"    {n}: {{number: [0, 1]}}\n" for n in names))
    f.write('  target: {column: y, classes: ["0", "1"]}\nmodel: {loss: logistic, family: lines}\n')
    f.write("privacy: {epsilon: 1, delta: 1e-9, relation: replace-one}\n")
if not os.path.exists("fit"):
    subprocess.run([binaries[0], "fit", "config.yaml", "--out", "fit"], check=True, stdout=subprocess.DEVNULL)


def spent(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run(command, check=True, capture_output=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


times, first = {}, {}
for _ in range(turns):
    for name in ["four.parquet", "long.parquet", "four.csv"]:
        for what, command in [("check", ["check", "config.yaml", name]), ("predict", ["predict", "fit/model.json", name])]:
            for binary in binaries:
                seconds, out = spent(binary, *command)
                times.setdefault((what, name, binary), []).append(seconds)
                if first.setdefault((what, name), out) != out:
                    sys.exit(f"{what} {name}: {binary} writes something else than {binaries[0]}")

options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
sessions = []
for i, binary in enumerate(binaries):
    subprocess.run([binary, "export", "fit/model.json", "--onnx", f"{i}.onnx"], check=True)
    sessions.append(onnxruntime.InferenceSession(f"{i}.onnx", options, providers=["CPUExecutionProvider"]))
inputs = {n: np.ascontiguousarray(c).reshape(-1, 1) for n, c in zip(names, x.T)}
w = draw.normal(size=COLUMNS)
expected = sessions[0].run(["probability", "margin"], inputs)
for _ in range(turns):
    for name, score in [("numpy", lambda: 1 / (1 + np.exp(-((2 * x - 1) @ w + 1))))] + [
        (b, lambda s=s: s.run(["probability", "margin"], inputs)) for b, s in zip(binaries, sessions)
    ]:
        begin = time.process_time()
        got = score()
        times.setdefault(("graph", "in memory", name), []).append(time.process_time() - begin)
        if name != "numpy" and not all(np.array_equal(a, b) for a, b in zip(got, expected)):
            sys.exit(f"the graph of {name} gives other numbers than that of {binaries[0]}")

for (what, name, binary), list_ in times.items():
    print(f"{what:8} {name:14} {os.path.basename(binary):10} {statistics.median(list_):.2f} s, "
          f"{min(list_):.2f} to {max(list_):.2f}")
