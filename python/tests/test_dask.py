"""stillpoint.dask, over a cluster of processes on this machine."""

import os
import signal
import threading
import time

import pytest

distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")
dd = pytest.importorskip("dask.dataframe")

import stillpoint  # noqa: E402
import stillpoint.dask  # noqa: E402
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
def client():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None, silence_logs=50) as cluster:
        with distributed.Client(cluster) as client:
            yield client


def people(rows):
    ages = [(i * 7919 % 11000) / 100 for i in range(rows)]
    floors = [None if i % 50 == 3 else 1 + i % 3 for i in range(rows)]  # which makes floats of them all
    return pd.DataFrame({"age": ages, "floor": floors, "ill": ["yes" if a > 55 else "no" for a in ages]})


def write(tmp_path, more=""):
    path = tmp_path / "people.yaml"
    path.write_text(CONFIG + more)
    return path


def test_fit(client, tmp_path):
    """Partitions, one of them empty, are one table, and the model is worth something."""
    frame = people(4000)
    parts = dd.concat([dd.from_pandas(part, npartitions=1) for part in (frame[:1500], frame[:0], frame[1500:])])
    fit = stillpoint.dask.fit(parts, write(tmp_path), client=client, out=tmp_path / "fit", progress=False)
    assert fit.report["records"] == 4000 and fit.report["complete"] and fit.report["verdict"] == "better"
    assert fit.verify()["epsilon"] == 1


def test_cells_are_written_as_categories_list_them(client, tmp_path):
    """A missing cell, which makes floats of a column of integers, changes no other cell."""
    frame = people(4000).assign(ill=lambda f: ["yes" if v == 2 else "no" for v in f["floor"]])
    parts = dd.from_pandas(frame, npartitions=2)
    fit = stillpoint.dask.fit(parts, write(tmp_path), client=client, out=tmp_path / "fit", epsilon=8.0, progress=False)
    terms = {t["term"]: t["value"] for t in fit.coefficients()["terms"]}
    assert terms["floor=2"] > terms.get("floor=3", 0) + 1  # both against floor=1


def _classifier(tmp_path, **more):
    pytest.importorskip("sklearn")
    facts = {"bounds": {"age": (0, 100)}, "categories": {"floor": [1, 2, 3]}, "classes": ["no", "yes"]}
    privacy = {"epsilon": 4, "delta": 1e-6, "relation": "replace-one", "table": "people", "folder": tmp_path / "fits"}
    return stillpoint.StillpointClassifier(**{**facts, **privacy, "progress": False, **more})


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("apart", [True, False])
def test_estimators_take_a_frame(client, tmp_path, apart):
    """Targets beside the frame or in it, with a column left out, make the model that the rows say."""
    frame = people(4000).assign(id=range(4000))[["id", "ill", "floor", "age"]]
    parts = dd.concat([dd.from_pandas(part, npartitions=1) for part in (frame[:1500], frame[:0], frame[1500:])])
    if apart:
        model = _classifier(tmp_path, ignore=["id"]).fit(parts.drop(columns="ill"), parts["ill"])
    else:
        model = _classifier(tmp_path, ignore=["id"], outcome="ill").fit(parts)
    assert model.report_["records"] == 4000 and model.report_["complete"]
    assert list(model.feature_names_in_) == [c for c in frame.columns if not apart or c != "ill"]
    assert (model.predict(frame[model.feature_names_in_]) == frame["ill"]).mean() > 0.9
    with pytest.raises(TypeError, match="map_partitions"):
        model.predict(parts)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_estimators_refuse_of_a_frame(client, tmp_path):
    frame = people(4000)
    parts, model = dd.from_pandas(frame, npartitions=2), _classifier(tmp_path)
    for y in (frame["ill"], parts[["ill"]], dd.from_pandas(frame, npartitions=1)["ill"]):
        with pytest.raises(TypeError, match="y: must be a Dask Series with the partitions of X"):
            model.fit(parts.drop(columns="ill"), y)
    with pytest.raises(ConfigurationError, match="type of numbers"):
        model.fit(parts.drop(columns="ill"), parts["age"])
    shifted = dd.concat([dd.from_pandas(part["ill"], npartitions=1) for part in (frame[:100], frame[100:])])
    with pytest.raises(StillpointError, match="y: must have as many rows as X in every partition") as caught:
        model.fit(parts.drop(columns="ill"), shifted)
    assert not caught.value.charged


def test_units_are_brought_together(client, tmp_path):
    """A person has rows in all partitions, written in several ways, and is one record. The cells are texts,
    or numbers that a missing cell makes floats."""
    config = tmp_path / "people.yaml"
    config.write_text(CONFIG.replace("  target:", "  unit: {column: person, rows: 4}\n  target:"))
    for names in ([f"{' ' * (i // 1500)}p{i % 1500}" for i in range(6000)], [None if i == 7 else i % 1500 for i in range(6000)]):
        parts = dd.from_pandas(people(6000).assign(person=names)[["age", "person", "floor", "ill"]], npartitions=4)
        fit = stillpoint.dask.fit(parts, config, client=client, out=tmp_path / "fit", overwrite=True, progress=False)
        assert fit.report["records"] == 1500 and fit.report["complete"] and fit.verify()["epsilon"] == 1
    with pytest.raises(StillpointError, match='"person"'):
        stillpoint.dask.fit(parts.drop(columns="person"), config, client=client, progress=False)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_estimators_bring_units_together(client, tmp_path):
    """The person and the targets are columns of the frame; what stands beside it could not be moved with it."""
    parts = dd.from_pandas(people(6000).assign(person=[i % 1500 for i in range(6000)]), npartitions=4)
    unit = {"column": "person", "rows": 4}
    model = _classifier(tmp_path, outcome="ill", unit=unit).fit(parts)
    assert model.report_["records"] == 1500 and model.report_["complete"] and model.certificate_["unit"]["column"] == "person"
    for given in ({"y": parts["ill"]}, {"unit": parts["person"]}):
        with pytest.raises(TypeError, match="unit and outcome must be columns of X"):
            _classifier(tmp_path, outcome="ill", unit=unit).fit(parts, **given)


def test_the_order_of_a_shuffle_is_that_of_the_rows():
    frame = stillpoint.dask._placed(people(500).assign(person=[i % 40 for i in range(500)]), "person")
    mixed = frame.sample(frac=1, random_state=1)
    assert stillpoint.dask._ordered(mixed).reset_index(drop=True).equals(stillpoint.dask._ordered(frame).reset_index(drop=True))
    assert list(frame.columns)[:-1] == list(stillpoint.dask._ordered(frame).columns)


def test_a_shuffle_that_fails_ends_the_fit(client, tmp_path):
    def fail(part):
        raise ValueError(f"a cell: {part['age'].iloc[0]}")

    config = tmp_path / "people.yaml"
    config.write_text(CONFIG.replace("  target:", "  unit: {column: person, rows: 4}\n  target:"))
    frame = people(400).assign(person=1)
    parts = dd.from_pandas(frame, npartitions=2).map_partitions(fail, meta=frame)
    with pytest.raises(StillpointError, match="could not partition the table by its unit: RuntimeError") as caught:
        stillpoint.dask.fit(parts, config, client=client, progress=False)
    assert "a cell" not in str(caught.value) and not caught.value.charged


def test_a_killed_worker_is_replaced(client, tmp_path):
    """A process of Dask is killed in the middle of a fit, which ends as if nothing were."""
    parts = dd.from_pandas(people(20_000), npartitions=2)
    config = write(tmp_path, "train: {algorithm: gd, steps: 400}\n")
    pids = [p for p in client.run(os.getpid).values()]

    def kill():
        while not (tmp_path / "fit" / "journal-1.jsonl").exists():
            time.sleep(0.01)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    fit = stillpoint.dask.fit(parts, config, client=client, out=tmp_path / "fit", progress=False)
    killer.join()
    assert fit.report["complete"] and fit.report["steps"] == 400 and fit.verify()["epsilon"] == 1
    client.wait_for_workers(2, timeout=60)


def test_refusals(client, tmp_path):
    """Too few slots, an open network and a faulty table are said before anything is charged."""
    config = write(tmp_path)
    with pytest.raises(ConfigurationError, match="9 partitions: must be at most the 4 threads"):
        stillpoint.dask.fit(dd.from_pandas(people(90), npartitions=9), config, client=client)
    with pytest.raises(ConfigurationError, match="data: must be left out"):
        stillpoint.dask.fit(dd.from_pandas(people(9), npartitions=1), write(tmp_path, "data: people.csv\n"), client=client)
    with pytest.raises(StillpointError, match='shard 0: .*"floor"') as caught:
        stillpoint.dask.fit(dd.from_pandas(people(90).drop(columns="floor"), npartitions=1), write(tmp_path), client=client)
    assert not caught.value.charged and not list(tmp_path.glob("*-fit*"))
    for address in ("tcp://10.1.2.3:8786", "tcp://cluster.example:8786", "ucx://10.1.2.3:1"):
        assert not stillpoint.dask._guarded(address)
    for address in ("tls://10.1.2.3:8786", "tcp://127.0.0.1:8786", "tcp://[::1]:8786", "inproc://10.1.2.3/1/1"):
        assert stillpoint.dask._guarded(address)


def test_slots(client, tmp_path, monkeypatch):
    """Threads that other fits hold, of this client or of another, are no slots for this one."""
    monkeypatch.setattr(stillpoint.dask, "ENDING", 0.5)
    lock = distributed.Lock("held")
    assert lock.acquire(timeout=10)
    try:
        for i in range(3):
            held = client.submit(_waits, key=stillpoint.dask.HOLDS + str(i))
            distributed.fire_and_forget(held)
        while stillpoint.dask._holding(client) < 3:
            time.sleep(0.05)
        with distributed.Client(client.scheduler.address, set_as_default=False) as other:
            said = "2 partitions: must be at most the 4 threads of Dask's workers, of which other fits hold 3,"
            with pytest.raises(ConfigurationError, match=said):
                stillpoint.dask._count(other, 2)
            with pytest.raises(ConfigurationError, match=said):
                stillpoint.dask.fit(dd.from_pandas(people(90), npartitions=2), write(tmp_path), client=other, out=tmp_path / "fit")
        assert not (tmp_path / "fit").exists()
        stillpoint.dask._count(client, 1)
    finally:
        lock.release()
    monkeypatch.setattr(stillpoint.dask, "ENDING", 30)
    stillpoint.dask._count(client, 4)  # it waits until the tasks are gone
    assert stillpoint.dask._holding(client) == 0


def _waits():
    with distributed.Lock("held"):
        return


def test_a_partition_that_cannot_be_computed_ends_the_fit(client, tmp_path):
    """What Dask says of it could quote a cell, and is not shown."""

    def fail(part):
        raise ValueError(f"a cell: {part['age'].iloc[0]}")

    frame = people(4000)
    parts = dd.from_pandas(frame, npartitions=2).map_partitions(fail, meta=frame)
    began = time.time()
    with pytest.raises(StillpointError, match="partition [01]: Dask could not compute it: ValueError") as caught:
        stillpoint.dask.fit(parts, write(tmp_path), client=client, progress=False)
    assert "a cell" not in str(caught.value) and time.time() - began < 30


def test_nothing_is_left(client):
    """No worker of the command outlives its fit."""
    deadline = time.time() + 10
    while time.time() < deadline:
        left = [p for p in os.listdir("/proc") if p.isdigit() and _is_shard(p)] if os.path.isdir("/proc") else []
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(left)


def _is_shard(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            words = f.read().split(b"\0")
        with open(f"/proc/{pid}/status") as f:
            return len(words) > 1 and words[0].endswith(b"stillpoint") and words[1] == b"shard" and f"PPid:\t{os.getpid()}" in f.read()
    except OSError:
        return False


def test_an_interrupt_ends_the_fit_and_frees_the_workers(client, tmp_path):
    """What was reached is saved, KeyboardInterrupt is raised, and no worker holds a partition any more."""
    out = tmp_path / "fit"

    def interrupt():
        while not list(out.glob("journal-*")):
            time.sleep(0.02)
        time.sleep(0.3)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    config = write(tmp_path, "train: {algorithm: gd, steps: 5000}\n")
    with pytest.raises(KeyboardInterrupt, match="interrupted after .* is saved"):
        stillpoint.dask.fit(dd.from_pandas(people(4000), npartitions=2), config, client=client, out=out, progress=False)
    assert stillpoint.spent(out)[0]["fits"] == 1 and (out / "model.json").exists()
    until = time.monotonic() + 20
    while stillpoint.dask._holding(client) and time.monotonic() < until:
        time.sleep(0.1)
    assert stillpoint.dask._holding(client) == 0
