"""stillpoint.fit and the errors it raises."""

import json
import os
import signal
import threading

import pytest
from conftest import write

import stillpoint
from stillpoint import ConfigurationError, StillpointError
from stillpoint._command import run


def test_fit(tmp_path):
    config = write(tmp_path, "logistic", 2)
    fit = stillpoint.fit(config, out=tmp_path / "fit", epsilon=2.0, progress=False)
    assert fit.report["epsilon"] == 2 and fit.report["complete"]
    assert fit.model["format"] == "stillpoint model"
    assert fit.verify()["epsilon"] == 2
    (total,) = stillpoint.spent(fit.folder)
    assert total["fits"] == 1


def test_describe(tmp_path):
    """The numbers are those of the file, the costs of a description and a fit add up, and released bounds serve the fit."""
    config = write(tmp_path, "logistic", 2)
    settings = json.loads(config.read_text(encoding="utf-8"))
    name = "age"
    settings["schema"]["columns"][name] = {"number": "auto"}
    del settings["schema"]["interactions"], settings["schema"]["norm"]
    settings["table"] = "people"
    config.write_text(json.dumps(settings), encoding="utf-8")
    found = stillpoint.describe(config, tmp_path / "described", level=0.9, epsilon=2.0, progress=False)
    assert found == json.loads((tmp_path / "described" / "describe.json").read_text(encoding="utf-8"))
    assert (found["level"], found["epsilon"]) == (0.9, 2)
    bounds = next(c for c in found["columns"] if c["name"] == name)["bounds"]
    settings["described"] = "described/describe.json"
    config.write_text(json.dumps(settings), encoding="utf-8")
    fit = stillpoint.fit(config, out=tmp_path / "fit", progress=False)
    assert next(c for c in fit.model["schema"]["columns"] if c["name"] == name)["number"] == bounds
    (total,) = stillpoint.spent(fit.folder, tmp_path / "described")
    assert total["fits"] == 2 and total["epsilon"] > fit.report["epsilon"]
    with pytest.raises(ConfigurationError, match="by"):
        stillpoint.describe(config, tmp_path / "by", by="absent", progress=False)


def test_warnings_have_codes(tmp_path):
    """A budget that promises nothing for too few rows is warned of, twice, and fitted."""
    config = write(tmp_path, "logistic", 2, rows=40)
    with pytest.warns(stillpoint.FitWarning) as caught:
        fit = stillpoint.fit(config, out=tmp_path / "fit", epsilon=.1)
    codes = [w.message.code for w in caught if isinstance(w.message, stillpoint.FitWarning)]
    assert "table-small" in codes and codes == [w["code"] for w in fit.report["warnings"]] == [w["code"] for w in fit.model["warnings"]]
    with pytest.warns(stillpoint.FitWarning, match="epsilon 50 promises next to nothing"):
        stillpoint.fit(config, out=tmp_path / "large", epsilon=50.0)


def test_errors_name_the_field(tmp_path):
    config = write(tmp_path, "logistic", 2)
    with pytest.raises(ConfigurationError) as caught:
        stillpoint.fit(config, out=tmp_path / "fit", epsilon=-1.0)
    assert caught.value.field == "epsilon" and caught.value.rule.startswith("must be") and not caught.value.charged
    with pytest.raises(ValueError, match="no such file"):
        stillpoint.fit(tmp_path / "absent.yaml")
    with pytest.raises(StillpointError, match="holds an earlier fit"):
        stillpoint.fit(config, out=tmp_path / "twice")
        stillpoint.fit(config, out=tmp_path / "twice")


def test_version():
    assert stillpoint.version().startswith("stillpoint ")


def test_progress(tmp_path, capsys):
    stillpoint.fit(write(tmp_path, "logistic", 2), out=tmp_path / "fit", progress=True)
    assert "step 20 of 20: noisy gradient norm" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="asks for signals")
def test_an_interrupt_keeps_what_was_reached(tmp_path):
    """At Ctrl-C the command saves the model of the steps so far, once, and says so."""
    config = write(tmp_path, "logistic", 2)
    settings = json.loads(config.read_text(encoding="utf-8"))
    settings["train"]["steps"] = 20_000
    config.write_text(json.dumps(settings), encoding="utf-8")

    def interrupt(event):
        if event["event"] == "step" and event["step"] == 3:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="the model of these steps is saved; the whole budget stays charged"):
        run(["fit", config, "--out", tmp_path / "fit", "--json", "--anyway"], on=interrupt)
    assert (tmp_path / "fit" / "model.json").exists()
    (total,) = stillpoint.spent(tmp_path / "fit")
    assert total["fits"] == 1


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_describe_of_a_frame(tmp_path, kind):
    """A description of a table that Python holds: true numbers, and bounds that nobody stated."""
    pd, np = pytest.importorskip("pandas"), pytest.importorskip("numpy")
    library = pytest.importorskip(kind)
    pytest.importorskip("sklearn")
    r = np.random.default_rng(4)
    n = 20_000
    table = pd.DataFrame({"age": r.uniform(20, 80, n), "income": np.exp(8 + r.normal(0, 0.5, n)), "town": r.choice(["a", "b"], n, p=[0.3, 0.7])})
    X = {"pandas": lambda: table, "polars": lambda: library.from_pandas(table), "pyarrow": lambda: library.Table.from_pandas(table)}[kind]()
    facts = {"bounds": {"age": (0, 100), "income": "auto"}, "categories": {"town": ["a", "b"]}, "epsilon": 2, "delta": 1e-6,
             "relation": "replace-one", "folder": tmp_path / "fits", "table": "people", "progress": False}  # fmt: skip
    said = stillpoint.describe(X, by="town", **facts)
    columns = {c["name"]: c for c in said["columns"]}
    assert set(columns) == {"age", "income", "town"}
    assert columns["age"]["mean"]["estimate"] == pytest.approx(50, abs=1)
    low, high = columns["income"]["bounds"]
    assert low < np.exp(7.5) and np.exp(8.5) < high < np.exp(12)
    share = {level["name"]: level["share"]["estimate"] for level in columns["town"]["levels"]}
    assert share["a"] == pytest.approx(0.3, abs=0.02)
    with pytest.raises(TypeError, match="relation: must be given"):
        stillpoint.describe(X, **{k: v for k, v in facts.items() if k != "relation"})
    with pytest.raises(ValueError, match="column 'height': must be in X"):
        stillpoint.describe(X, **{**facts, "bounds": {"age": (0, 100), "height": (0, 250)}})
    with pytest.raises(TypeError, match="out: must be given"):
        stillpoint.describe("people.yaml", **{k: v for k, v in facts.items() if k == "epsilon"})
