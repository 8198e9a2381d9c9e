"""One fit with a level that no row has, as every display shows it: the level is absent everywhere."""

import json
import random

import pytest

from stillpoint import StillpointClassifier
from stillpoint._command import run

pandas = pytest.importorskip("pandas")

PLACES = ["north", "south", "moon"]


def test_absent_terms_are_absent_in_every_display(tmp_path):
    coin = random.Random(4)
    people = pandas.DataFrame({"age": [coin.uniform(18, 90) for _ in range(6000)], "region": [coin.choice(PLACES[:2]) for _ in range(6000)]})
    ill = ["yes" if coin.random() < 1 / (1 + 2.7 ** ((50 - age) / 20)) else "no" for age in people["age"]]
    model = StillpointClassifier(
        epsilon=4, delta=1e-6, relation="replace-one", bounds={"age": (18, 90)}, categories={"region": PLACES}, inference=0.9,
        folder=tmp_path / "fits", table="people", classes=["no", "yes"], family="lines",
    )  # fmt: skip
    model.fit(people, ill)
    folder = str(model.folder_)
    said = json.loads(run(["coefficients", folder, "--json"]))
    intervals = {t["term"].strip("()"): t for t in said["intervals"]["coefficients"]}
    terms = {t["term"]: t for t in said["terms"]}
    frame = model.tidy().set_index("term").rename(lambda name: name.strip("()"))
    cells = {line.split("  ")[0].strip("()"): line for line in str(model.summary()).splitlines()}
    text = {line.split("  ")[0].strip("()"): line for line in run(["coefficients", folder]).splitlines()}
    assert list(terms) == list(intervals) == list(frame.index)
    assert intervals["region=moon"]["state"] == "not in the formula" and intervals["age"]["state"] == "reported"
    covariance = dict(zip(terms, said["covariance"]))
    for name, term in intervals.items():
        row, absent = frame.loc[name], term["state"] == "not in the formula"
        assert (terms[name]["value"] is None) == absent, name
        assert pandas.isna(row["estimate"]) == absent and row["state"] == term["state"], name
        assert all(v is None for v in covariance[name]) == (term["state"] != "reported"), name
        assert ("not in the formula" in text[name]) == absent, text[name]
        assert ("not in the formula" in cells[name]) == absent, cells[name]
        if absent:
            assert pandas.isna(row["conf_low"]) and pandas.isna(row["std_error"]) and pandas.isna(row["odds_ratio"]), name
            assert not any(c.isdigit() for c in text[name]), text[name]
            if name != "intercept":
                assert model.contrast({name: 1}).low is None
        elif term["state"] == "reported":
            assert row["estimate"] == term["estimate"] == pytest.approx(terms[name]["value"])
            assert (row["conf_low"], row["conf_high"]) == (term["low"], term["high"])
    shown = model.predict_interval(people.iloc[:1].assign(region="moon"))
    assert pandas.isna(shown[0][0]) and pandas.isna(shown[0][1])
    hidden = [{"state": "not in the formula", "text": "absent"}, {"state": "not identified", "text": "noise hides it"}]
    model.effects_ = model.effects_ | {"method": "not identified", "reasons": hidden}
    with pytest.warns(UserWarning, match="^predict_interval: no prediction has an interval: noise hides it$"):
        model.predict_interval(people.iloc[:1])


def test_values_of_curves_are_those_of_the_command(tmp_path):
    """A contrast of a value between two knots of a curve is the command's, and other values are refused with its bounds."""
    coin = random.Random(5)
    people = pandas.DataFrame({"age": [coin.uniform(18, 90) for _ in range(8000)]})
    ill = ["yes" if coin.random() < 1 / (1 + 2.7 ** ((50 - age) / 20)) else "no" for age in people["age"]]
    model = StillpointClassifier(
        epsilon=8, delta=1e-6, relation="replace-one", bounds={"age": (18, 90)}, curves={"age": 3}, inference=0.9,
        folder=tmp_path / "fits", table="people", classes=["no", "yes"],
    )  # fmt: skip
    model.fit(people, ill)
    got, knot = model.contrast({"age@36": 1}), model.contrast({"age@18": 0.5})
    assert got.value == pytest.approx(knot.value) and got.low == pytest.approx(knot.low) and got.state == "reported"
    with pytest.raises(Exception, match='"age@17": must be a value of the curve of age, from age@18 to age@90'):
        model.contrast({"age@17": 1})
    with pytest.raises(ValueError, match="term 'pay': must be one of"):
        model.contrast({"pay": 1})
