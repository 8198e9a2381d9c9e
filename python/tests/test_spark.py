"""stillpoint.spark, in processes of this machine. It needs pyspark and Java."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("there is no Java here", allow_module_level=True)

from pyspark.sql import SparkSession  # noqa: E402

import stillpoint.spark  # noqa: E402
from stillpoint import ConfigurationError, StillpointError  # noqa: E402

CONFIG = """
table: people
schema:
  columns:
    age: {number: [0, 100]}
    floor: {category: ["1", "2", "3"]}
  target: {column: ill, classes: ["no", "yes"]}
model: {loss: logistic}
privacy: {epsilon: 1, delta: 1.0e-6, relation: replace-one}
"""


@pytest.fixture(scope="module")
def spark():
    # Tasks are tried again in local mode only where it is asked for: local[cores,tries].
    session = SparkSession.builder.master("local[3,3]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "3")
    session = session.config("spark.sql.execution.arrow.maxRecordsPerBatch", "700").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def people(spark, rows, parts=3):
    cells = [((i * 7919 % 11000) / 100, None if i % 50 == 3 else 1 + i % 3) for i in range(rows)]
    return spark.createDataFrame([(a, f, "yes" if a > 55 else "no") for a, f in cells], "age double, floor int, ill string").coalesce(parts)


def write(tmp_path, more=""):
    path = tmp_path / "people.yaml"
    path.write_text(CONFIG + more)
    return path


def test_fit(spark, tmp_path):
    frame = people(spark, 4000)
    fit = stillpoint.spark.fit(frame, write(tmp_path), out=tmp_path / "fit", progress=False)
    assert fit.report["records"] == 4000 and fit.report["complete"] and fit.report["verdict"] == "better"
    assert fit.verify()["epsilon"] == 1


def test_page(spark, tmp_path):
    """The lines of the page for Spark run as they stand, on a table of that configuration."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "spark.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^```(yaml|python)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))
    (tmp_path / "people.yaml").write_text(blocks["yaml"], encoding="utf-8")
    people(spark, 4000).write.parquet((tmp_path / "people.parquet").as_uri())
    # In a process of its own, since Spark finds relative paths from where its process began.
    (tmp_path / "page.py").write_text(blocks["python"], encoding="utf-8")
    # The process finds this package and Spark where this process does, also if they are not installed.
    paths = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
    ran = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    verdict, term = ran.stdout.splitlines()
    assert verdict == "better 1" and term.startswith("{"), ran.stdout
    assert (tmp_path / "people-fit" / "model.json").exists()


def test_a_killed_worker_is_replaced(spark, tmp_path):
    """A worker of the command is killed in the middle of a fit; Spark starts another."""
    import signal
    import threading
    import time

    config = write(tmp_path, "train: {algorithm: gd, steps: 400}\n")

    def kill():
        while not (tmp_path / "fit" / "journal-1.jsonl").exists():
            time.sleep(0.01)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
                if words[1:2] == [b"shard"] and b"--partition=1" in words:
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass

    killer = threading.Thread(target=kill)
    killer.start()
    fit = stillpoint.spark.fit(people(spark, 20_000), config, out=tmp_path / "fit", progress=False)
    killer.join()
    assert fit.report["complete"] and fit.report["steps"] == 400 and fit.verify()["epsilon"] == 1


def test_partitions_of_a_shuffle(spark, tmp_path):
    """Adaptive execution, which would merge small partitions, changes no number of shards."""
    frame = people(spark, 4000).repartition("age")
    fit = stillpoint.spark.fit(frame, write(tmp_path), out=tmp_path / "fit", progress=False)
    assert fit.report["records"] == 4000
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"


def test_units_are_brought_together(spark, tmp_path):
    """A person has rows in all partitions, written in several ways, and is one record."""
    from pyspark.sql import functions

    config = tmp_path / "people.yaml"
    config.write_text(CONFIG.replace("  target:", "  unit: {column: person, rows: 4}\n  target:"))
    number = functions.monotonically_increasing_id()
    frame = people(spark, 6000, 1).withColumn("person", number % 1500)
    blank = functions.expr("repeat(' ', cast(person % 2 as int) * cast(age as int) % 3)")
    frame = frame.withColumn("person", functions.concat(blank, frame.person.cast("string"), blank)).repartition(3)
    fit = stillpoint.spark.fit(frame.select("age", "person", "floor", "ill"), config, out=tmp_path / "fit", progress=False)
    assert fit.report["records"] == 1500 and fit.report["complete"] and fit.verify()["epsilon"] == 1


def test_slots(spark, tmp_path):
    """Tasks that other fits hold are no slots for this one, and are free once they have ended."""
    context = spark.sparkContext
    settings = context.getConf()
    assert stillpoint.spark._slots(context, settings) == 3
    with stillpoint.spark._taken(context, settings, 2):
        with pytest.raises(ConfigurationError, match="2 partitions: must be at most the 3 tasks that run at a time, of which other fits hold 2,"):
            stillpoint.spark.fit(people(spark, 90, 2), write(tmp_path), out=tmp_path / "fit", progress=False)
        with stillpoint.spark._taken(context, settings, 1):
            pass
    with stillpoint.spark._taken(context, settings, 3):
        pass
    assert not (tmp_path / "fit").exists()
    # Executors that come as they are needed: as many as the settings allow, or without a limit.
    more = settings.set("spark.dynamicAllocation.enabled", "true")
    assert stillpoint.spark._slots(context, more) is None
    more = more.set("spark.dynamicAllocation.maxExecutors", "5").set("spark.executor.cores", "5").set("spark.task.cpus", "2")
    assert stillpoint.spark._slots(context, more) == 10


def test_standalone(tmp_path):
    """Two executors of a standalone Spark, all of whose connections are encrypted. One of them is killed."""
    ran = subprocess.run([sys.executable, str(Path(__file__).parent / "standalone.py"), str(tmp_path)], capture_output=True, text=True, timeout=500)
    assert ran.returncode == 0, ran.stdout + ran.stderr[-4000:]
    assert ran.stdout.splitlines() == [
        "frame: 3 partitions: must be at most the 2 tasks that run at a time, each of which holds one during the fit (coalesce the frame, or add cores)",
        "an executor was killed",
        "400 steps 1",
    ]


def test_refusals(spark, tmp_path):
    with pytest.raises(ConfigurationError, match="5 partitions: must be at most the 3 tasks"):
        stillpoint.spark.fit(people(spark, 90).repartition(5), write(tmp_path))
    with pytest.raises(StillpointError, match='shard 0: .*"floor"') as caught:
        stillpoint.spark.fit(people(spark, 90, 1).drop("floor"), write(tmp_path), progress=False)
    assert not caught.value.charged

    class Cluster:  # a session of one, with settings that leave its files in the clear
        master, sparkContext, Settings = "spark://cluster.example:7077", None, {s: "true" for s in stillpoint.spark.GUARDS[:2]}

        def getConf(self):
            return self.Settings

    class Frame:
        sparkSession = Cluster()

    Frame.sparkSession.sparkContext = Frame.sparkSession
    with pytest.raises(ConfigurationError, match="frame: spark.io.encryption.enabled: must be true"):
        stillpoint.spark.fit(Frame(), write(tmp_path))
    Frame.sparkSession = object()
    with pytest.raises(ConfigurationError, match="frame: is of Spark Connect"):
        stillpoint.spark.fit(Frame(), write(tmp_path))


def test_an_interrupt_ends_the_fit(spark, tmp_path):
    """What was reached is saved, KeyboardInterrupt is raised, and Spark's job is gone."""
    out = tmp_path / "fit"

    def interrupt():
        while not list(out.glob("journal-*")):
            time.sleep(0.02)
        time.sleep(0.3)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    config = write(tmp_path, "train: {algorithm: gd, steps: 5000}\n")
    frame = people(spark, 4000)
    # PySpark has a handler of its own, which cancels all jobs of the session first.
    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt, match="is saved"):
        stillpoint.spark.fit(frame, config, out=out, progress=False)
    assert stillpoint.spent(out)[0]["fits"] == 1 and (out / "model.json").exists()
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
