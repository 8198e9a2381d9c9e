"""Pictures of curves: they show what coefficients --json says."""

import math
import sys

import pytest
from conftest import write

import stillpoint


@pytest.fixture(scope="module", params=["logistic", "softmax", "huber(0.1)"])
def fit(request, tmp_path_factory):
    loss = request.param
    config = write(tmp_path_factory.mktemp("curves"), loss, {"logistic": 2, "softmax": 3}.get(loss, 0))
    return stillpoint.fit(config, out=config.parent / "fit", progress=False)


def test_curves_are_drawn(fit):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    said = fit.coefficients()
    axes = stillpoint.plot_curves(fit)
    assert len(axes) == 2 + len(said["surfaces"])
    for ax, name in zip(axes, ["age", "seen"]):
        curves = [c for c in said["curves"] if c["column"] == name]
        for curve, line in zip(curves, ax.lines):
            shown = [math.exp(p["effect"]) if said.get("ratio") else p["effect"] for p in curve["points"]]
            assert list(line.get_ydata()) == pytest.approx(shown)
            assert len(line.get_xdata()) == len(curve["points"])
        assert ax.get_xlabel() == name and ax.get_ylabel() == (f"{said['ratio']}, times" if said.get("ratio") else said["unit"])
        stated = curves[0]["points"][0]["low"] is not None
        assert len(ax.collections) == (len(curves) if stated else 0)
        assert ("privacy noise only" in ax.get_title()) == stated
    (alone,) = stillpoint.plot_curves(said, ["seen"])
    assert alone.get_xlabel() == "seen"
    alone.figure.canvas.draw()
    axes[0].figure.canvas.draw()
    matplotlib.pyplot.close("all")


def test_thin_stretches_are_grey():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    points = [{"x": x, "effect": 0.0, "low": None, "high": None, "mass": 0.0, "thin": x > 1} for x in (0, 1, 2, 3)]
    curve = {"column": "a", "mean_zero_over": "rows", "knots": [0, 3], "points": points}
    (ax,) = stillpoint.plot_curves({"unit": "units of y", "curves": [curve]})
    assert len(ax.patches) == 1
    matplotlib.pyplot.close("all")


def test_refusals(fit, monkeypatch):
    with pytest.raises(ValueError, match="'work' must be one of the columns with curves"):
        pytest.importorskip("matplotlib").use("Agg")
        stillpoint.plot_curves(fit, ["work"])
    with pytest.raises(ValueError, match="must have curves"):
        stillpoint.plot_curves({"unit": "", "terms": []})
    with pytest.raises(TypeError, match="must be a Fit"):
        stillpoint.plot_curves(3)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"needs matplotlib: pip install 'stillpoint-dp\[plot\]'"):
        stillpoint.plot_curves(fit)




def test_curves_with_intervals():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")

    def point(x, effect, low, high, thin=False):
        return {"x": x, "effect": effect, "low": low, "high": high, "mass": None, "thin": thin}

    points = [point(0, -1.0, -1.5, -0.5), point(1, 0.0, 0.0, 0.0), point(2, 0.5, 0.2, 0.8), point(3, 0.0, None, None, True)]
    curve = {"column": "a", "mean_zero_over": "reference", "zero_at": 1, "confidence_level": 0.9, "knots": [0, 1, 2, 3]}
    (ax,) = stillpoint.plot_curves({"unit": "units of y", "curves": [{**curve, "points": points}]})
    drawn = ax.lines[0].get_ydata()
    assert list(drawn[:3]) == [-1.0, 0.0, 0.5] and math.isnan(drawn[3])
    assert len(ax.patches) == 1  # from 2 to 3 nothing is stated
    assert len(ax.collections) == 1 and ax.get_title() == "band: 90% confidence intervals"
    ax.figure.canvas.draw()
    for p in points:
        p.update(low=None, high=None)
    (ax,) = stillpoint.plot_curves({"unit": "units of y", "curves": [{**curve, "points": points}]})
    assert not ax.collections and "noise hides a knot" in ax.get_title()
    matplotlib.pyplot.close("all")


def test_interactions_by_hand():
    """The strongest colour is of the largest effect, which is a negative one here; cells of few rows have a dash."""
    axes = [{"column": "region", "levels": ["region=n", "region=s"]}, {"column": "age", "knots": [20, 45.25, 70]}]
    said = {"unit": "log-odds", "ratio": "", "surfaces": [{"axes": axes, "effect": [[0.5, -2, 1], [0.25, 0, -0.75]], "mass": [[1] * 3] * 2,
        "thin": [[False, False, True], [False, True, False]], "class": "yes"}]}  # fmt: skip
    (ax,) = stillpoint.plot_curves(said)
    assert ax.images[0].get_clim() == (-2, 2)
    assert ax.images[0].get_array().tolist() == [[0.5, -2, 1], [0.25, 0, -0.75]]
    assert [t.get_text() for t in ax.texts] == ["0.5", "-2", "–", "0.25", "–", "-0.75"]
    assert [t.get_position() for t in ax.texts[:4]] == [(0, 0), (1, 0), (2, 0), (0, 1)]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["n", "s"] and [t.get_text() for t in ax.get_xticklabels()] == ["20", "45.2", "70"]
    assert (ax.get_ylabel(), ax.get_xlabel(), ax.get_title()) == ("region", "age", "interaction (log-odds), yes")
    (ratio,) = stillpoint.plot_curves(said | {"ratio": "odds ratio", "surfaces": [said["surfaces"][0] | {"mass": None}]})
    assert ratio.texts[0].get_text() == "1.6" and ratio.texts[2].get_text() == "2.7" and ratio.get_title() == "interaction (odds ratio, times), yes"


def test_places_of_curves_by_hand():
    """A logarithmic axis begins at 1 + 0, dates are days after 1970, and grey is the stretch between two knots with few rows."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    points = [{"x": x, "effect": x / 4, "low": None, "high": None, "mass": None, "thin": x >= 3} for x in (0, 1, 3, 9)]
    said = {"unit": "log-odds", "ratio": "odds ratio", "curves": [{"column": "income", "log": True, "points": points}]}
    (ax,) = stillpoint.plot_curves(said)
    assert list(ax.lines[0].get_xdata()) == [1, 2, 4, 10] and list(ax.lines[0].get_ydata()) == [math.exp(x / 4) for x in (0, 1, 3, 9)]
    (grey,) = ax.patches
    assert (grey.get_x(), grey.get_x() + grey.get_width()) == (4, 10)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale()) == ("1 + income", "odds ratio, times", "log")
    (ax,) = stillpoint.plot_curves({"unit": "euros", "curves": [{"column": "day", "date": True, "points": [p | {"x": 365 * p["x"]} for p in points[:2]]}]})
    assert [str(x) for x in ax.lines[0].get_xdata()] == ["1970-01-01T00:00:00", "1971-01-01T00:00:00"]
    matplotlib.pyplot.close("all")
