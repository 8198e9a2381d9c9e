"""What a summary shows, worked out by hand, and a test that each shown value is worked out.

Each oracle calls functions of the module that it is given, with numbers of which no two are alike, and
compares texts to the letter. The last test makes every value that the module shows wrong, one at a time:
an oracle must fail.
"""

from __future__ import annotations

import ast
import inspect
import math
import types

import pytest

from stillpoint import _summary


def term(name, value, sd, per="", **more):
    return {"term": name, "column": name.split("=")[0], "value": value, "noise_sd": sd, "per": per, **more}


COEFFICIENTS = {
    "terms": [
        term("age", 0.0345678, 0.01234, "1 year"),
        term("sex=m", -0.5, 0.25, reference="sex=f"),
        term("sex=d", 1.25, 0.5, reference="sex=f"),
        term("tiny", 0.000123, None),
    ],
    "references": {"sex": "f"},
    "unit": "log-odds of ill",
    "noise": "bounded",
    "meaning": "Words.",
    "not_interpretable": ["town", "job"],
}
COVARIANCE = [[0.0001, 0.0002, 0.0, 0.0], [0.0002, 0.0625, 0.03, 0.0], [0.0, 0.03, 0.25, 0.0], [0.0, 0.0, 0.0, 1e-8]]
REPORT = {
    "protects": "what a row says",
    "epsilon": 1.5,
    "delta": 1e-6,
    "relation": "replace-one",
    "records": 4321,
    "algorithm": "gd",
    "steps": 11,
    "of": 37,
    "releases": 13,
    "table": "people",
}
SPENT = {"epsilon": 2.34567, "delta": 2e-6, "fits": 3}
EFFECTS = {
    "level": 0.9,
    "formula": "ill ~ age + sex",
    "unit": "log-odds of ill",
    "meaning": "Words.",
    "changes": ["town is left out", "job is left out"],
    "reasons": [{"state": "withheld", "terms": ["tiny", "small"], "text": "noise hides them"}],
    "coefficients": [
        {"term": "age", "estimate": 0.0345678, "standard_error": 0.0098765, "low": 0.01832, "high": 0.05081, "privacy_share": 0.347,
            "state": "reported", "odds_ratio": {"estimate": 1.03517, "low": 1.01849, "high": 1.05212}},
        {"term": "sex=m", "reference": "sex=f", "estimate": -0.5, "standard_error": 0.25, "low": -0.9112, "high": -0.0888,
            "privacy_share": 0.62, "state": "reported", "odds_ratio": {"estimate": 0.60653, "low": 0.40204, "high": 0.91503}},
        {"term": "tiny", "state": "withheld", "estimate": 0.7},
        {"term": "(intercept)", "intercept": True, "estimate": 1.5, "state": "reported"},
    ],
}  # fmt: skip
RATES = EFFECTS | {
    "coefficients": [{"rate_ratio" if k == "odds_ratio" else k: v for k, v in t.items()} for t in EFFECTS["coefficients"]]
}


def facts(m, **changes):
    return dict(m.summarize("Kind", "ill", REPORT | changes, COEFFICIENTS, SPENT).facts)


def oracle_facts(m):
    shown = facts(m)
    assert shown == {
        "Outcome": "ill",
        "Protects": "what a row says",
        "Guarantee": "(1.5, 1e-06)-differentially private under replace-one",
        "Rows": "4321 (public)",
        "Algorithm": "gd: 11 of 37 steps, 13 noisy answers",
        "Model": "not compared with a constant prediction",
        "All fits": "epsilon 2.346 at delta 2e-06 for 3 of people",
    }


def oracle_verdicts(m):
    for code, words in {
        "better": "better than the best constant prediction",
        "worse": "worse than the best constant prediction",
        "unclear": "not shown to be better than the best constant prediction",
    }.items():
        assert facts(m, verdict=code)["Model"] == words
        assert facts(m, verdict=code, comparison="a sentence")["Model"] == "a sentence"


def oracle_terms(m):
    s = m.summarize("Kind", "ill", REPORT, COEFFICIENTS, SPENT)
    assert s.columns == ["", "coef", "noise sd at most", "exp(coef)", "per"]
    assert s.rows == [
        ["age", "0.0346", "0.012", "1.035", "1 year"],
        ["sex=m", "-0.5000", "0.25", "0.6065", ""],
        ["sex=d", "1.2500", "0.5", "3.49", ""],
        ["tiny", "1.23e-04", "-", "1", ""],
    ]
    assert s.notes == ["coef: log-odds of ill.", "Words.", "Hashed columns have no coefficients: town, job."]
    ends = [term("zero", 0.0, None), term("bound", -0.001, None), term("below", 0.000999, None)]
    of_ends = m.summarize("Kind", "ill", REPORT, COEFFICIENTS | {"terms": ends}, SPENT)
    assert [r[1] for r in of_ends.rows] == ["0.0000", "-0.0010", "9.99e-04"]
    plain = m.summarize("Kind", "ill", REPORT, COEFFICIENTS | {"noise": "estimated", "unit": "euros"}, SPENT)
    assert plain.columns == ["", "coef", "noise sd", "per"]
    classes = [dict(t, **{"class": c}) for t in COEFFICIENTS["terms"][:1] for c in "ab"]
    of_each = m.summarize("Kind", "ill", REPORT, COEFFICIENTS | {"terms": classes}, SPENT)
    assert of_each.columns[1] == "class" and [r[1] for r in of_each.rows] == ["a", "b"]


def oracle_intervals(m):
    s = m.summarize("Kind", "ill", REPORT, COEFFICIENTS, SPENT, EFFECTS)
    assert s.columns == ["", "coef", "std err", "[0.05", "0.95]", "privacy", "odds ratio", "per"]
    assert s.rows == [
        ["age", "0.03457", "0.009876", "0.01832", "0.05081", "35%", "1.035", "one unit more"],
        ["sex=m", "-0.5", "0.25", "-0.9112", "-0.0888", "62%", "0.6065", "against sex=f"],
        ["tiny", "-", "-", "-", "-", "-", "-", "one unit more (withheld)"],
        ["(intercept)", "1.5", "-", "-", "-", "-", "-", ""],
    ]
    rates = m.summarize("Kind", "ill", REPORT, COEFFICIENTS, SPENT, RATES)
    assert rates.columns[6] == "rate ratio" and [r[6] for r in rates.rows] == ["1.035", "0.6065", "-", "-"]
    assert s.facts[-1] == ("Formula", "ill ~ age + sex")
    assert s.notes == [
        "coef: log-odds of ill. privacy: the share of an interval's width that comes from the privacy noise.",
        "Words.",
        "Withheld (tiny, small): noise hides them.",
        "Changed from what was asked for: town is left out; job is left out.",
    ]


TEXT = """\
                                     Kind
==============================================================================
Outcome:   ill
Protects:  what a row says
Guarantee: (1.5, 1e-06)-differentially private under replace-one
Rows:      4321 (public)
Algorithm: gd: 11 of 37 steps, 13 noisy answers
Model:     not compared with a constant prediction
All fits:  epsilon 2.346 at delta 2e-06 for 3 of people
==============================================================================
           coef  noise sd at most  exp(coef)  per
------------------------------------------------------------------------------
age      0.0346             0.012      1.035  1 year
sex=m   -0.5000              0.25     0.6065
sex=d    1.2500               0.5       3.49
tiny   1.23e-04                 -          1
==============================================================================
coef: log-odds of ill.
one two three four five six seven eight nine ten one two three four five six
seven eight nine ten
Hashed columns have no coefficients: town, job."""


def oracle_text(m):
    longer = COEFFICIENTS | {"meaning": " ".join(2 * ["one two three four five six seven eight nine ten"])}
    assert str(m.summarize("Kind", "ill", REPORT, longer, SPENT)) == TEXT


def oracle_html(m):
    few = COEFFICIENTS | {"terms": COEFFICIENTS["terms"][:1], "not_interpretable": []}
    s = m.summarize("Kind <x>", "ill", REPORT, few, SPENT)
    s.facts = s.facts[3:5]
    assert s._repr_html_() == (
        "<table><caption>Kind &lt;x&gt;</caption><tr><td>Rows</td><td>4321 (public)</td></tr>"
        "<tr><td>Algorithm</td><td>gd: 11 of 37 steps, 13 noisy answers</td></tr></table>"
        "<table><tr><th></th><th>coef</th><th>noise sd at most</th><th>exp(coef)</th><th>per</th></tr>"
        "<tr><td>age</td><td>0.0346</td><td>0.012</td><td>1.035</td><td>1 year</td></tr></table>"
        "<p>coef: log-odds of ill.</p><p>Words.</p>"
    )


def oracle_names_of_classes(m):
    terms = [term("age", 0.25, 0.5, **{"class": "bus"}), term("age", -0.5, 0.25, **{"class": "car"})]
    terms.append(term("sex=m", 2.0, 1.0, reference="sex=f", **{"class": "car"}))
    classes = COEFFICIENTS | {"terms": terms}
    assert m.contrast(classes, {"bus: age": 3, "car: age": -2}, None).value == 1.75
    assert m.contrast(classes, {"car: sex=m": 2, "car: sex=f": -1, "bus: sex=f": 7}, None).value == 4
    assert m.contrast(classes, {"age": 2, "sex=f": 1}, "car").value == -1


def oracle_words(m):
    assert m.words(0.5, "log-odds of ill") == "the odds of ill are multiplied by 1.649 (odds ratio)"
    assert m.words(-0.25, "the logarithm of visits") == "visits is multiplied by 0.7788 (rate ratio)"
    assert m.words(1.23456, "units of pay") == "pay is predicted 1.235 higher"
    assert m.words(1.23456, "the score") == "1.235 higher in the score"
    assert m.words(701, "log-odds of ill") == "the odds of ill are multiplied by inf (odds ratio)"
    assert m.words(1, "") == ""


def oracle_contrasts(m):
    c = m.contrast(COEFFICIENTS, {"age": 10, "sex=m": -2, "sex=f": 5}, None)
    assert c.value == pytest.approx(0.345678 + 1.0, rel=1e-12)
    assert c.noise_sd == pytest.approx(0.1234 + 0.5, rel=1e-12) and c.noise == "bounded"  # bounds add up
    known = COEFFICIENTS | {"covariance": COVARIANCE, "noise": "estimated"}
    c = m.contrast(known, {"sex=d": 1, "sex=m": -1}, None)
    assert c.value == pytest.approx(1.75, rel=1e-12)
    assert c.noise_sd == pytest.approx(math.sqrt(0.0625 + 0.25 - 2 * 0.03), rel=1e-12)
    c = m.contrast(COEFFICIENTS, {"tiny": 1}, None)
    assert c.noise_sd is None
    assert m.contrast_text({"age": 10, "sex=m": -1}) == " 10.0 age + -1.0 sex=m"
    said = {"state": "reported", "low": 1.5, "high": 4.5, "standard_error": 0.75, "privacy_share": 0.4, "estimate": 3.25, "meaning": "m",
        "level": 0.9, "formula": "f"}  # fmt: skip
    c = m.with_interval(m.Contrast(3, 1, "estimated"), said)
    assert (c.value, c.low, c.high, c.standard_error, c.privacy_share, c.level) == (3.25, 1.5, 4.5, 0.75, 0.4, 0.9)
    c = m.with_interval(m.Contrast(3, 1, "estimated"), said | {"state": "withheld", "reason": "noise"})
    assert (c.low, c.high, c.standard_error, c.privacy_share, c.state, c.reason) == (None, None, None, None, "withheld", "noise")


def oracle_levels(m):
    assert m.pairs(COEFFICIENTS, "sex", "") == {"sex=m": {"sex=m": 1, "sex=f": -1}, "sex=d": {"sex=d": 1, "sex=f": -1}}
    assert m.pairs(COEFFICIENTS, "sex", "m") == {"sex=f": {"sex=f": 1, "sex=m": -1}, "sex=d": {"sex=d": 1, "sex=m": -1}}
    values = {n: c.value for n, c in m.levels(COEFFICIENTS, "sex", "m", None).items()}
    assert values == {"sex=f": 0.5, "sex=d": 1.75}
    # A level that is called 0 is a level, and no missing one.
    # A reference also names the dropped levels that count as it, and is called by its own name.
    two = [term("sex=1", 2.0, 0.1, reference="sex=2 or 3"), term("sex=0", 0.5, 0.1, reference="sex=2 or 3")]
    coded = COEFFICIENTS | {"terms": two, "references": {"sex": "2"}}
    assert m.pairs(coded, "sex", "0") == {"sex=2": {"sex=2": 1, "sex=0": -1}, "sex=1": {"sex=1": 1, "sex=0": -1}}
    assert m.contrast(coded, {"sex=1": 1, "sex=2": -1}, None).value == 2.0
    # Of several classes each name begins with its class, also that of a reference; the class itself may be given.
    of = [{**term("age", v, 0.1), "class": c} for c, v in (("bus", 0.25), ("train", -0.5))]
    of += [{**term("sex=m", v, 0.1, reference="sex=f or d"), "class": c} for c, v in (("bus", 1.5), ("train", 2.75))]
    several = COEFFICIENTS | {"terms": of}
    assert m.contrast(several, {"train: sex=m": 1, "bus: sex=m": -1, "bus: age": 2}, None).value == 1.75
    assert m.contrast(several, {"train: sex=m": 1, "train: sex=f": -1}, None).value == 2.75
    assert m.contrast(several, {"sex=m": 1, "sex=f": -1}, "bus").value == 1.5
    with pytest.raises(ValueError, match=r"term 'sex=f': must be one of \['bus: age', 'train: age', 'bus: sex=m', 'train: sex=m', 'bus: sex=f', 'train: sex=f'\]"):
        m.contrast(several, {"sex=f": 1}, None)


def oracle_tidy(m):
    t = m.tidy(COEFFICIENTS, None)
    assert t["estimate"] == [0.0345678, -0.5, 1.25, 0.000123] and t["noise_sd"] == [0.01234, 0.25, 0.5, None]
    assert t["reference"] == [None, "sex=f", "sex=f", None] and t["per"] == ["1 year", "", "", ""]
    late = COEFFICIENTS | {"noise": "estimated", "covariance": [[None]]}
    late["terms"] = [term("age", 0.5, None, state="not arrived", share=0.43), term("sex=m", None, None, state="absent")]
    late["terms"][1]["reference"] = "sex=f"
    assert m.tidy(late, None)["state"] == ["not arrived", "absent"] and m.tidy(late, None)["estimate"] == [0.5, None]
    assert m._deviation(late["terms"][0]) == "not arrived" and m._deviation(late["terms"][1]) == "-"
    part = COEFFICIENTS | {"noise": "estimated", "covariance": [[0.04, 0.01], [0.01, 0.09]]}
    part["terms"] = [term("age", 0.5, 0.2, state="part of the way", steps_sd=0.0567, share=0.876), term("bmi", 2.0, 0.3, state="stated", share=0.99)]
    assert m._deviation(part["terms"][0]) == "0.2 (noise 0.057, 88% of the way)" and m._deviation(part["terms"][1]) == "0.3"
    c = m.contrast(part, {"age": 2, "bmi": 1}, None)
    assert c.noise_sd == pytest.approx(math.sqrt(0.16 + 0.09 + 0.04), rel=1e-12) and c.noise == "part of the way"
    assert m.contrast(part, {"bmi": 1}, None).noise == "estimated"
    carrier = {"state": "reported", "reason": "also carries x2 (correlation 0.94)", "reference": "x1=a"}
    assert m._against(carrier) == "against x1=a, also carries x2 (correlation 0.94)"
    assert m._against({**carrier, "reference": None, "intercept": True}) == "also carries x2 (correlation 0.94)"
    t = m.tidy(part, None)
    assert t["steps_sd"] == [0.0567, None] and t["share"] == [0.876, 0.99]
    hidden = COEFFICIENTS | {"noise": "estimated", "covariance": [[0.04, None], [None, None]]}
    hidden["terms"] = [term("age", 0.5, 0.2, state="stated", share=0.99), term("sex=m", 2.0, None, state="not stated")]
    c = m.contrast(hidden, {"age": 2, "sex=m": 1}, None)
    assert (c.value, c.noise_sd, c.noise) == (3.0, None, "not stated")
    assert m.contrast(hidden, {"age": 2}, None).noise_sd == pytest.approx(0.4, rel=1e-12)
    c = m.contrast(late, {"age": 2}, None)
    assert (c.value, c.noise_sd, c.noise) == (1.0, None, "not arrived")
    clipped = part | {"covariance": [[None, None], [None, 0.09]]}  # the command states no noise where the clip moves a coefficient
    clipped["terms"] = [term("age", 0.5, None, state="not stated", reason="the clip moves it"), part["terms"][1]]
    c = m.contrast(clipped, {"age": 2, "bmi": 1}, None)
    assert (c.value, c.noise_sd, c.noise) == (3.0, None, "not stated")
    assert m.contrast(clipped, {"bmi": 2}, None).noise_sd == pytest.approx(0.6, rel=1e-12)
    c = m.contrast(late, {"age": 1, "sex=m": 1}, None)
    assert math.isnan(c.value) and (c.noise_sd, c.noise) == (None, "absent")
    t = m.tidy(COEFFICIENTS, EFFECTS)
    assert t["estimate"] == [0.0345678, -0.5, 0.7, 1.5] and t["std_error"] == [0.0098765, 0.25, None, None]
    assert t["conf_low"] == [0.01832, -0.9112, None, None] and t["conf_high"] == [0.05081, -0.0888, None, None]
    assert t["privacy_share"] == [0.347, 0.62, None, None] and t["state"][2] == "withheld" and t["reason"] == ["", "", "", ""]
    for name, of in (("odds_ratio", t), ("rate_ratio", m.tidy(COEFFICIENTS, RATES))):
        assert of[name] == [1.03517, 0.60653, None, None]
        assert of[f"{name}_low"] == [1.01849, 0.40204, None, None] and of[f"{name}_high"] == [1.05212, 0.91503, None, None]


ORACLES = [f for name, f in sorted(globals().items()) if name.startswith("oracle_")]


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda f: f.__name__)
def test_summary_is_worked_out(oracle):
    oracle(_summary)


def wrong(value):
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.0625 + (value == 0)
    return f"{value}?" if isinstance(value, str) else value


class Wrong(ast.NodeTransformer):
    """Wraps one value that is shown: the one with a number, of those inside of a text outside of errors."""

    def __init__(self, number):
        self.number, self.seen, self.place = number, -1, ""

    def visit_Raise(self, node):
        return node

    def visit_FormattedValue(self, node):
        self.generic_visit(node)
        self.seen += 1
        if self.seen == self.number:
            self.place = f"line {node.lineno}: {ast.unparse(node.value)}"
            node.value = ast.Call(ast.Name("wrong", ast.Load()), [node.value], [])
        return node


def changed(number):
    """The module with one shown value wrong, and which; None if there are not so many."""
    tree = ast.parse(inspect.getsource(_summary))
    change = Wrong(number)
    tree = ast.fix_missing_locations(change.visit(tree))
    if not change.place:
        return None, ""
    module = types.ModuleType(_summary.__name__)
    module.__dict__.update(__file__=_summary.__file__, wrong=wrong)
    exec(compile(tree, _summary.__file__, "exec"), module.__dict__)
    return module, change.place


def test_every_shown_value_has_an_oracle(monkeypatch):
    bare, number = [], 0
    while True:
        module, place = changed(number)
        if module is None:
            break
        monkeypatch.setitem(__import__("sys").modules, _summary.__name__, module)  # for its dataclasses
        for oracle in ORACLES:
            try:
                oracle(module)
            except Exception:
                break
        else:
            bare.append(place)
        number += 1
    assert not bare, "no oracle fails where these are wrong"
    assert number > 20, "the test shows nothing"


def test_formula_keeps_every_interaction():
    pytest.importorskip("formulaic")
    from stillpoint import _formula

    f = _formula.parse("ill ~ a * b + c + a:c + log1p(d) + d2 + C(e, ['x', 'y']):b + e", ["a", "b", "c", "d", "d2", "e"], {})
    assert f.outcome == "ill" and sorted(f.columns) == ["a", "b", "c", "d", "d2", "e"] and f.log1p == ["d"]
    assert sorted(map(sorted, f.interactions)) == [["a", "b"], ["a", "c"], ["b", "e"]]
    assert f.categories == {"e": ["x", "y"]}


def unfitted():
    """A classifier to which a test gives the attributes of a fit."""
    pytest.importorskip("sklearn", "1.6")
    from stillpoint import StillpointClassifier

    return StillpointClassifier(classes=["no", "yes"], epsilon=1.5, delta=1e-6, relation="replace-one", folder="f", table="people")


def test_summary_has_the_numbers_of_the_fit_and_of_all_fits():
    """One fit's epsilon is the guarantee, and that of all fits stands under All fits."""
    model = unfitted()
    model.coefficients_, model.report_, model.spent_, model.effects_ = COEFFICIENTS, REPORT, SPENT, None
    model._outcome = lambda: "ill"
    facts = dict(model.summary().facts)
    assert facts["Guarantee"].startswith("(1.5, 1e-06)-") and facts["All fits"] == "epsilon 2.346 at delta 2e-06 for 3 of people"


def test_contrasts_take_the_reference_that_is_given():
    """A reference of 0 is a level, and none is the schema's own."""
    model = unfitted()
    terms = [term("dose=1", 2.0, 0.1, reference="dose=2 or 3"), term("dose=0", 0.5, 0.2, reference="dose=2 or 3")]
    model.coefficients_ = COEFFICIENTS | {"terms": terms, "references": {"dose": "2"}}
    model.effects_ = None
    for reference, want in {0: {"dose=2": -0.5, "dose=1": 1.5}, 1: {"dose=2": -2.0, "dose=0": -1.5}, None: {"dose=1": 2.0, "dose=0": 0.5}}.items():
        assert {n: c.value for n, c in model.contrasts("dose", reference=reference).items()} == want


def test_bounds_of_contrasts_are_of_all_terms():
    """A bound on the noise of a sum is the sum of its terms' bounds. There is none if a term has none."""

    def of(second, weights):
        terms = [{"term": "a", "column": "a", "value": 1.0, "noise_sd": 0.5}, {"term": "b", "column": "b", "value": 3.0, "noise_sd": second}]
        return _summary.contrast({"terms": terms, "noise": "bounded", "unit": ""}, weights, None)

    assert (of(0.25, {"a": 1, "b": -2}).value, of(0.25, {"a": 1, "b": -2}).noise_sd) == (-5.0, 1.0)
    assert of(None, {"a": 1, "b": -2}).noise_sd is None
    assert of(None, {"a": -3}).noise_sd == 1.5
