"""A fit over a standalone Spark of this machine whose connections and files are encrypted.

test_spark.py runs it with a folder, in a process of its own, since a process has one driver. A table of
three partitions is refused, since there are two executors of one core. Then an executor is killed in the
middle of a fit, and Spark starts another. Prints what happened.
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

import stillpoint.spark
from stillpoint import ConfigurationError

CONFIG = """
table: people
schema:
  columns: {age: {number: [0, 100]}}
  target: {column: ill, classes: ["no", "yes"]}
model: {loss: logistic}
privacy: {epsilon: 1, delta: 1.0e-6, relation: replace-one}
train: {algorithm: gd, steps: 400}
"""
HOST = "127.0.0.1"


def settings(folder):
    every = {s: "true" for s in stillpoint.spark.GUARDS}
    every |= {"spark.authenticate.secret": secrets.token_hex(32), "spark.ui.enabled": "false", "spark.local.dir": str(folder)}
    path = folder / "spark.conf"
    path.write_text("".join(f"{k} {v}\n" for k, v in every.items()))
    path.chmod(0o600)
    return path, every


def started(folder, conf, name, *arguments):
    run = Path(pyspark.__file__).parent / "bin" / "spark-class"
    words = [run, f"org.apache.spark.deploy.{name}", "--host", HOST, "--webui-port", "0", "--properties-file", conf]
    return subprocess.Popen([*words, *arguments], stdout=subprocess.DEVNULL, stderr=open(folder / f"{name}.log", "ab"))


def port():
    with socket.socket() as s:
        s.bind((HOST, 0))
        return s.getsockname()[1]


def reached(at):
    for _ in range(600):
        try:
            return socket.create_connection((HOST, at), 1).close()
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("Spark's master does not listen")


def executors(application):
    """The processes of an application's executors."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(w.endswith(b"CoarseGrainedExecutorBackend") for w in words) and application.encode() in words:
            yield int(pid)


def killing(folder, application):
    """Kills an executor, and all that it started, once the fit in a folder has released something."""

    def wait():
        while not (folder / "journal-1.jsonl").exists():
            time.sleep(0.01)
        os.kill(next(executors(application)), signal.SIGKILL)
        print("an executor was killed", flush=True)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def fits(folder, master, every):
    session = SparkSession.builder.master(master).config("spark.driver.host", HOST).config("spark.executor.memory", "512m")
    session = session.config("spark.executor.cores", "1")
    for key, value in every.items():
        session = session.config(key, value)
    spark = session.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rows = [((i * 7919 % 11000) / 100, "yes" if i * 7919 % 11000 > 5500 else "no") for i in range(20_000)]
    people = spark.createDataFrame(rows, "age double, ill string")
    config = folder / "people.yaml"
    config.write_text(CONFIG)
    try:
        stillpoint.spark.fit(people.repartition(3), config, progress=False)
    except ConfigurationError as error:
        print(error, flush=True)
    killer = killing(folder / "fit", spark.sparkContext.applicationId)
    fit = stillpoint.spark.fit(people.coalesce(2), config, out=folder / "fit", progress=False)
    killer.join()
    print(fit.report["steps"], "steps", fit.verify()["epsilon"])
    spark.stop()


def main():
    folder = Path(sys.argv[1])
    conf, every = settings(folder)
    at = port()
    master = f"spark://{HOST}:{at}"
    processes = [started(folder, conf, "master.Master", "--port", str(at))]
    try:
        reached(at)
        for i in range(2):
            processes.append(started(folder, conf, "worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", folder / f"worker{i}", master))
        fits(folder, master, every)
    finally:
        for p in processes:
            p.terminate()
        for p in processes:
            p.wait(timeout=60)


if __name__ == "__main__":
    main()
