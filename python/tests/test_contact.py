"""What somebody meets first: what is refused and why, formulas, and what a fit says in words."""

import json
import subprocess
import sys
import warnings

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
pandas = pytest.importorskip("pandas")
from conftest import write
from feeding import rows, written
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from stillpoint import ConfigurationError, NewTableWarning, SpentWarning, StillpointClassifier, StillpointRegressor
from stillpoint._summary import contrast, levels, summarize

coin = np.random.default_rng(3)
ROWS = 4000
AGE, REGION = coin.uniform(18, 90, ROWS), coin.choice(["north", "south", "east"], ROWS)
ILL = np.where(coin.random(ROWS) < 1 / (1 + np.exp(-(AGE - 50) / 15)), "yes", "no")
PEOPLE = pandas.DataFrame({"age": AGE, "region": REGION, "pay": np.exp(coin.uniform(0, 9, ROWS)), "id": range(ROWS), "ill": ILL})
CODEBOOK = {"age": (18, 90), "pay": (0, 10_000), "height": (1, 2)}
PLACES = ["north", "south", "east"]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def given(folder, **more):
    fixed = {"epsilon": 5, "delta": 1e-5, "relation": "replace-one", "folder": folder, "table": "people", "progress": False}
    return {**fixed, **more}


def classifier(folder, **more):
    return StillpointClassifier(**given(folder, classes=["no", "yes"], **more))


def test_a_column_of_which_nothing_is_stated_is_an_error(tmp_path):
    """Left out without a word it would be missed in the model; it is told by its place, never by its name."""
    X = PEOPLE.rename(columns={"id": "4711.5"}).drop(columns="ill")
    stated = {"bounds": {"age": (18, 90)}, "categories": {"region": PLACES}}
    with pytest.raises(ConfigurationError, match=r"2 of the 4 columns of X, at places 2, 3 \(from 0\): must be in bounds") as caught:
        classifier(tmp_path, **stated).fit(X, ILL)
    assert "4711" not in str(caught.value) and caught.value.field == "ignore"
    with pytest.raises(ConfigurationError, match="1 of the 4 columns of X, at place 2"):
        classifier(tmp_path, ignore=["4711.5"], **stated).fit(X, ILL)
    with pytest.raises(ConfigurationError, match="nothing is stated of 1 of the 2 columns of X, at place 1"):
        classifier(tmp_path, bounds={"x0": (18, 90)}).fit(np.column_stack([AGE, AGE]), ILL)
    twice = pandas.concat([X, X["age"]], axis=1)
    with pytest.raises(ConfigurationError, match="columns of the same name: at place 4"):
        classifier(tmp_path, ignore="others", **stated).fit(twice, ILL)
    with pytest.raises(ValueError, match="ignore = 'rest': must be a list of columns, or 'others'"):
        classifier(tmp_path, ignore="rest", **stated).fit(X, ILL)
    with pytest.raises(ValueError, match="ignore: column 'age': must not be in bounds"):
        classifier(tmp_path, ignore=["age"], **stated).fit(X, ILL)
    assert not list(tmp_path.iterdir())
    for ignore in (["pay", "4711.5"], "others"):
        header, *_ = rows(written(classifier(tmp_path, ignore=ignore, **stated), X, ILL))
        assert header == ["age", "region", "y"]
    header, *body = rows(written(classifier(tmp_path, ignore=["x1"], bounds=[(18, 90), (0, 1)]), np.column_stack([AGE, AGE, AGE]), ILL))
    assert header == ["x0", "x2", "y"]


NUMBERS, TEXTS = [0, 1], ["no", "yes"]


def columns_of(kind):
    """Columns of one kind in every make of table."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    values = {"number": [0, 1, 1], "truth": [True, False, True], "text": ["no", "yes", "no"], "time": np.array([1, 2, 3], "M8[D]").astype("M8[ms]")}[kind]
    yield np.array(values)
    yield pandas.Series(values)
    yield polars.Series(values)
    yield pyarrow.chunked_array([pyarrow.array(values)])
    if kind != "time":
        dtype = {"number": "Int64", "truth": "boolean", "text": "string"}[kind]
        yield pandas.Series(values, dtype=dtype)


@pytest.mark.parametrize("kind", ["number", "truth", "text", "time"])
def test_targets_of_a_type_that_no_class_has(kind, tmp_path):
    """The fit would be charged and learn nothing."""
    X = np.arange(3.0).reshape(-1, 1)
    fits = {"number": NUMBERS, "truth": NUMBERS, "text": TEXTS, "time": None}[kind]
    for classes in (NUMBERS, TEXTS):
        for y in columns_of(kind):
            estimator = classifier(tmp_path, bounds=(0, 9)).set_params(classes=classes)
            if classes is fits:
                assert len(rows(written(estimator, X, y))) == 4
                continue
            with pytest.raises(ConfigurationError, match=f"y is of a type of {kind}s: must be of the same type as classes"):
                estimator.fit(X, y)
    for y in columns_of(kind):
        estimator = StillpointRegressor(**given(tmp_path, target_bounds=(0, 1), bounds=(0, 9)))
        if kind == "time":
            with pytest.raises(ConfigurationError, match="y is of a type of times: must be numbers"):
                estimator.fit(X, y)
        else:
            assert len(rows(written(estimator, X, y))) == 4
    assert kind == "time" or list(tmp_path.iterdir())


def test_a_type_that_holds_anything_is_never_refused(tmp_path):
    """Of a list, or a column of objects, only cells could say it."""
    X = np.arange(3.0).reshape(-1, 1)
    for y in ([0, 1, 2], ["no", 1, None], np.array([0, 1, 2], dtype=object), pandas.Series([0, 1, 2], dtype=object)):
        for classes in (NUMBERS, TEXTS):
            assert len(rows(written(classifier(tmp_path, bounds=(0, 9)).set_params(classes=classes), X, y))) == 4


def test_categories_of_a_library_have_the_type_of_their_values(tmp_path):
    """A column of pandas' Categorical, polars' Enum or Categorical, or of pyarrow's dictionaries is one of its values' type."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    X, texts = np.arange(3.0).reshape(-1, 1), ["no", "yes", "no"]
    coded = pyarrow.array(texts).dictionary_encode()
    of_texts = [
        pandas.Series(texts, dtype="string").astype("category"),
        pandas.Series(pandas.arrays.ArrowExtensionArray(coded)),
        polars.Series(texts, dtype=polars.Categorical),
        polars.Series(texts, dtype=polars.Enum(TEXTS)),
        coded,
    ]
    of_numbers = [pandas.Series([0, 1, 0], dtype="category"), pyarrow.array([0, 1, 0]).dictionary_encode()]
    for targets, fits, other in ((of_texts, TEXTS, NUMBERS), (of_numbers, NUMBERS, TEXTS)):
        for y in targets:
            with pytest.raises(ConfigurationError, match="must be of the same type as classes"):
                classifier(tmp_path, bounds=(0, 9)).set_params(classes=other).fit(X, y)
            body = rows(written(classifier(tmp_path, bounds=(0, 9)).set_params(classes=fits), X, y))[1:]
            assert [row[-1] for row in body] == [str(fits[0]), str(fits[1]), str(fits[0])]


def test_a_column_that_cannot_hold_what_is_stated_of_it(tmp_path):
    """All of its cells would be missing or other: the types of columns are public, and are compared before the charge."""
    day = np.datetime64("2020-01-01")
    for cells, stated, why in [
        ([True, False, True], {"categories": {"c": TEXTS}}, "of truths: must have the categories True and False"),
        ([True, False, True], {"categories": {"c": NUMBERS}}, "of truths: must have the categories True and False"),
        ([1, 2, 1], {"categories": {"c": PLACES}}, "of numbers: must have categories that are numbers"),
        ([1, 2, 1], {"categories": {"c": ["01", "02"]}}, "of numbers: must have categories that are numbers"),
        ([1, 2, 1], {"categories": {"c": [True, False]}}, "of numbers: must have categories that are numbers"),
        ([1.5, 2, 1], {"dates": {"c": ("2020-01-01", "2021-01-01")}}, "of numbers: must be of times or of ISO texts"),
        ([True, False, True], {"dates": {"c": ("2020-01-01", "2021-01-01")}}, "of truths: must be of times or of ISO texts"),
        ([day, day, day], {"bounds": {"c": (0, 1)}}, "of times: must be in dates"),
    ]:
        X = pandas.DataFrame({"age": [20.0, 30, 40], "c": cells})
        stated = {**stated, "bounds": {"age": (18, 90), **stated.get("bounds", {})}}
        with pytest.raises(ConfigurationError, match=f"column at place 1 .from 0. is of a type {why}"):
            classifier(tmp_path, **stated).fit(X, ["no", "yes", "no"])
    assert not list(tmp_path.iterdir())
    for cells, levels in [([True, False], [True, False]), ([True, False], ["true"]), ([1, 2], ["1", "north"]), ([0.5, 1], [0.5]), (["1", "2"], [1, 2])]:
        X = pandas.DataFrame({"c": cells})
        assert len(rows(written(classifier(tmp_path, categories={"c": levels}), X, TEXTS))) == 3


def test_values_that_are_no_list(tmp_path):
    """A text is no list of its letters, and a set has no order: which class counts as positive would differ by process."""
    X = pandas.DataFrame({"age": [20.0, 30], "c": ["n", "o"]})
    for wrong, kind in (("no", "str"), ({"no", "yes"}, "set"), (frozenset(TEXTS), "frozenset"), (None, "NoneType"), (2, "int")):
        with pytest.raises(ConfigurationError, match=f"classes is of type {kind}: must be a list of all public values in a fixed order"):
            classifier(tmp_path, bounds=(18, 90)).set_params(classes=wrong).fit(X[["age"]], TEXTS)
        with pytest.raises(ConfigurationError, match=f"categories.'c'. is of type {kind}: must be a list"):
            classifier(tmp_path, bounds={"age": (18, 90)}, categories={"c": wrong}).fit(X, TEXTS)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="column 'age': must be in X, whose columns are called x0"):
        classifier(tmp_path, bounds={"age": (18, 90)}).fit(pandas.DataFrame({"age": AGE, 3: AGE}), ILL)


def test_arguments_of_others_are_refused_with_the_reason(tmp_path):
    X = AGE.reshape(-1, 1)
    with pytest.raises(TypeError, match="has no random_state: noise is drawn from secret random bits"):
        classifier(tmp_path, random_state=1)
    with pytest.raises(TypeError, match="has no class_weight: .* learned from rows"):
        classifier(tmp_path, class_weight="balanced")
    with pytest.raises(TypeError, match="unexpected keyword argument 'seed'"):
        classifier(tmp_path, seed=1)
    with pytest.raises(TypeError, match="fit has no sample_weight: .*public"):
        classifier(tmp_path, bounds=(18, 90)).fit(X, ILL, sample_weight=np.ones(ROWS))
    with pytest.raises(TypeError, match="unexpected keyword argument 'groups'"):
        classifier(tmp_path, bounds=(18, 90)).fit(X, ILL, groups=None)

    class Sparse:
        def tocsr(self): ...

    with pytest.raises(TypeError, match="X must be dense"):
        classifier(tmp_path, bounds=(18, 90)).fit(Sparse(), ILL)
    with pytest.raises(TypeError, match="y must be dense"):
        classifier(tmp_path, bounds=(18, 90)).fit(X, Sparse())
    assert not list(tmp_path.iterdir())


def test_the_package_alone_needs_no_other(tmp_path):
    """Without its extras stillpoint is imported and fits a configuration, whose rows the command reads."""
    others = ("numpy", "pandas", "polars", "pyarrow", "sklearn", "matplotlib")
    config = write(tmp_path, "logistic", 2)
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({others})); import stillpoint; "
        f"print(stillpoint.fit({str(config)!r}, out={str(tmp_path / 'fit')!r}, progress=False).coefficients()['target'])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.returncode == 0 and said.stdout, said.stderr


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    """Without scikit-learn or formulaic the package says what to install."""
    blocked = "import sys; sys.modules['sklearn'] = None; import stillpoint; stillpoint.StillpointClassifier"
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and "ImportError: stillpoint.StillpointClassifier needs sklearn: pip install 'stillpoint-dp[sklearn]'" in done.stderr
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(ImportError, match=r"pip install 'stillpoint-dp\[formula\]'"):
        StillpointClassifier.from_formula("ill ~ age", **given(tmp_path, classes=TEXTS, bounds=CODEBOOK))


def test_a_new_table_is_warned_of_before_it_is_charged(tmp_path):
    X = PEOPLE[["age"]]
    model = classifier(tmp_path / "fits", bounds=(18, 90), train={"algorithm": "gd", "steps": 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error", NewTableWarning)
        with pytest.raises(NewTableWarning, match="table 'people' is new in folder"):
            model.fit(X, ILL)
    assert not (tmp_path / "fits").exists()
    model.fit(X, ILL)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NewTableWarning)
        model.fit(X, ILL)
        with pytest.raises(NewTableWarning, match="'peopel' is new in folder .*, which has fits of 1 others"):
            clone(model).set_params(table="peopel").fit(X, ILL)
    assert model.spent_["fits"] == 2


UNKNOWN = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
COUNTED = r"part 'place', before it was fitted on the rows, which nobody charged for \(min_frequency and max_categories count them\)"


def test_a_column_transformer_of_stated_categories(tmp_path):
    """It learns nothing from rows; one that does is refused wherever in it that part stands."""
    X = PEOPLE[["region", "age"]]

    def fit(part, **more):
        pipeline = make_pipeline(
            ColumnTransformer([("place", part, ["region"])], remainder=more.pop("remainder", "passthrough"), **more),
            classifier(tmp_path, bounds=[(0, 1)] * 3 + [(18, 90)], train={"algorithm": "gd", "steps": 2}),
        )
        return pipeline.fit(X, ILL)

    stated = OneHotEncoder(categories=[PLACES], handle_unknown="ignore", sparse_output=False)
    fitted = fit(stated)
    assert fitted.predict(X).shape == (ROWS,)
    assert list(fitted[-1].feature_names_out_) == ["x0", "x1", "x2", "x3"]
    for part, more, why in [
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), {}, "part 'place', before it was fitted on the rows"),
        (OneHotEncoder(categories=[PLACES], sparse_output=False), {}, "an error that quotes any other value"),
        (clone(stated).set_params(min_frequency=2), {}, COUNTED),
        (clone(stated).set_params(min_frequency=0.1), {}, COUNTED),
        (clone(stated).set_params(max_categories=2), {}, COUNTED),
        (clone(stated).set_params(max_categories=9), {}, COUNTED),
        (OrdinalEncoder(categories=[PLACES], max_categories=2, **UNKNOWN), {}, COUNTED),
        (OrdinalEncoder(categories=[PLACES], min_frequency=2, **UNKNOWN), {}, COUNTED),
        (make_pipeline(clone(stated).set_params(max_categories=2)), {}, "step 'onehotencoder', before it was fitted on the rows"),
        (FeatureUnion([("both", clone(stated).set_params(max_categories=2))]), {}, "part 'both', before it was fitted on the rows"),
        (clone(stated).set_params(sparse_output=True), {}, "sparse or dense tables by what the cells hold"),
        (OrdinalEncoder(**UNKNOWN), {}, "part 'place', before it was fitted"),
        (make_pipeline(FunctionTransformer(), clone(stated).set_params(categories="auto")), {}, "step 'onehotencoder'"),
        (stated, {"remainder": StandardScaler()}, "the remainder, before it was fitted"),
    ]:
        with pytest.raises((ConfigurationError, ValueError), match=why):
            fit(part, **more)


def test_from_formula_says_what_the_arguments_say(tmp_path):
    """A formula is the same estimator as its arguments, and the outcome comes from the table."""
    by_formula = StillpointClassifier.from_formula(
        "ill ~ age + C(region, PLACES) + log1p(pay)", **given(tmp_path, classes=TEXTS, bounds=CODEBOOK)
    )
    by_hand = classifier(
        tmp_path, bounds={"age": (18, 90), "pay": (0, 10_000)}, categories={"region": PLACES}, log1p=["pay"], ignore="others", outcome="ill"
    )
    assert by_formula.get_params() == {**by_hand.get_params(), "interactions": [], "dates": {}}
    text = written(clone(by_formula), PEOPLE, None)
    header, first, *_ = rows(text)
    assert header == ["age", "region", "pay", "ill"] and first == [repr(float(AGE[0])), REGION[0], repr(float(PEOPLE.pay[0])), ILL[0]]
    assert written(by_hand, PEOPLE.drop(columns="ill"), PEOPLE.ill) == text == written(by_hand, PEOPLE, ILL)
    regressor = StillpointRegressor.from_formula("pay ~ .", **given(tmp_path, bounds={"pay": (0, 9), "age": (18, 90)}))
    assert regressor.target_bounds == (0, 9) and list(regressor.bounds) == ["age"]
    with pytest.raises(ValueError, match="outcome = 'ill': must be a column of X"):
        by_formula.fit(PEOPLE.drop(columns="ill"))


def test_formulas_that_would_learn_are_refused(tmp_path):
    series, facts = PEOPLE.region, {"bounds": CODEBOOK, "categories": {"region": PLACES}}
    for formula, why in {
        "ill ~ scale(age)": "scale(age): must be a column",
        "ill ~ poly(age, 2)": "must be a column",
        "ill ~ {age + 1}": "must be a column",
        "ill ~ weight": "weight: must be in bounds",
        "ill ~ C(weight)": "weight: must be in bounds",
        "ill ~ C(weight, series)": "never taken from the rows",
        "ill ~ C(weight, unknown)": "unknown must be a variable",
        "ill ~ C(weight, list(series))": "levels must be a list, or a variable",
        "ill ~ C(region, ['north', 'west'])": "must not have other levels",
        "ill ~ C(region, contr.sum)": "levels must be a list",
        "ill ~ C(region, PLACES, spans_intercept=True)": "must be C(column, levels)",
        "ill ~ age - 1": "must have an intercept",
        "ill ~ 1": "at least one column",
        "ill ~ age + log1p(age)": "age: must stand once",
        "ill ~ region + region:age": "age: must have|must have the columns",
        "ill ~ age * pay * region": "interaction of two columns",
        "log(ill) ~ age": "one outcome",
        "ill + age ~ pay": "one outcome",
        "ill ~ age | region": "a sum of columns",
        "ill ~ ill + age": "both sides",
        "ill age": "one outcome",
    }.items():
        with pytest.raises(ConfigurationError, match="formula: ") as caught:
            StillpointClassifier.from_formula(formula, **given(tmp_path, classes=TEXTS, **facts))
        assert any(w in str(caught.value) for w in why.split("|")), (formula, str(caught.value))
    assert len(series) == ROWS


def test_summary_contrasts_and_searches_of_a_formula(tmp_path):
    """One fit from the first line to the last: the summary's numbers are the coefficients'."""
    two = ["a", "b"]
    people = PEOPLE.assign(sex=np.where(PEOPLE.id % 2, "a", "b"))
    model = StillpointClassifier.from_formula("ill ~ age + C(region, PLACES) * C(sex, two)", **given(tmp_path, classes=TEXTS, bounds=CODEBOOK, family="lines"))
    model.fit(people)
    terms = {t["term"]: t for t in model.coefficients_["terms"]}
    said = str(model.summary())
    lines = {line.split("  ")[0]: line.split() for line in said.splitlines()}
    assert abs(terms["age"]["value"] - 1 / 15) < 0.02
    stated = terms["age"]["noise_sd"] is not None
    assert f"{terms['age']['value']:.4f}" in lines["age"] and (f"{terms['age']['noise_sd']:.2g}" in lines["age"] if stated else "not" in lines["age"])
    assert f"{np.exp(terms['age']['value']):.4g}" in lines["age"]
    for words in ("ill = yes against no", "(5, 1e-05)-differentially private", "4000 (public)", "better than the best constant", "region=south & sex=b", "1 of people"):
        assert words in said, words
    assert "<th>coef</th>" in model.summary()._repr_html_() and "region=south &amp; sex=b" in model.summary()._repr_html_()
    ten = model.contrast({"age": 10})
    assert ten.value == pytest.approx(10 * terms["age"]["value"])
    assert ten.noise_sd == pytest.approx(10 * terms["age"]["noise_sd"], rel=1e-9) if stated else ten.noise == "not arrived"
    by = model.contrasts("region", reference="south")
    assert by["region=north"].value == -terms["region=south"]["value"]
    south = terms["region=south"]["noise_sd"]
    assert by["region=north"].noise_sd == (None if south is None else pytest.approx(south, rel=1e-9))
    with pytest.raises(ValueError, match="term 'region=west': must be one of"):
        model.contrast({"region=west": 1})
    with pytest.raises(ValueError, match="must be one of categories"):
        model.contrasts("age")
    again = clone(model).set_params(folder=tmp_path / "search", train={"algorithm": "gd", "steps": 4})
    assert (cross_val_score(again, people, people.ill, cv=2) > 0.6).all()


@pytest.mark.parametrize("setting", [{"steps": 0}, {"steps": np.int64(0)}, {"step_scale": 0.0}, {"output": ""}])
def test_an_explicit_zero_is_no_rule(tmp_path, setting):
    """A zero is refused before the charge, where leaving the setting out means the algorithm's rule."""
    (name,) = setting
    model = classifier(tmp_path, bounds=(18, 90), train={"algorithm": "gd", **setting})
    with pytest.raises(ConfigurationError, match=rf"train\.{name} = .*leave it out for the algorithm's rule"):
        model.fit(PEOPLE[["age"]], ILL)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_a_summary_has_the_intervals_that_were_asked_for(tmp_path):
    """With inference the table has estimates, standard errors and intervals, and what was changed."""
    model = classifier(tmp_path, bounds={"age": (18, 90)}, categories={"region": PLACES}, inference=0.9).fit(PEOPLE[["age", "region"]], ILL)
    said = str(model.summary())
    (age,) = [line.split() for line in said.splitlines() if line.startswith("age ")]
    (effect,) = [t for t in model.effects_["coefficients"] if t["term"] == "age"]
    assert age[1:5] == [f"{effect[k]:.4g}" for k in ("estimate", "standard_error", "low", "high")]
    assert effect["low"] < 1 / 15 < effect["high"] or effect["high"] - effect["low"] < 0.1
    for words in ("[0.05", "0.95]", "privacy", "odds ratio", "against region=north", f"Formula:   {model.effects_['formula']}"):
        assert words in said, words
    assert all(change in " ".join(said.split()) for change in model.effects_["changes"])
    # Contrasts have intervals, too, those of single terms the summary's.
    ten = model.contrast({"age": 10})
    assert ten.value == pytest.approx(10 * effect["estimate"]) and ten.level == 0.9 and ten.formula == model.effects_["formula"]
    assert (ten.low, ten.high) == (pytest.approx(10 * effect["low"]), pytest.approx(10 * effect["high"])) and ten.state == "reported"
    by = model.contrasts("region", reference="south")
    (south,) = [t for t in model.effects_["coefficients"] if t["term"] == "region=south"]
    if south["state"] == "reported":
        assert by["region=north"].value == pytest.approx(-south["estimate"]) and by["region=north"].low == pytest.approx(-south["high"])
    with pytest.raises(ValueError, match="term 'region=west': must be one of"):
        model.contrast({"region=west": 1})
    frame = model.tidy()
    assert list(frame.columns[:6]) == ["term", "reference", "estimate", "std_error", "conf_low", "conf_high"]
    assert frame.set_index("term").conf_low["age"] == effect["low"] and frame.attrs["formula"] == model.effects_["formula"]
    assert frame.set_index("term").odds_ratio_high["age"] == effect["odds_ratio"]["high"]
    assert all((state == "reported") == (not reason) for state, reason in zip(frame.state, frame.reason))
    band, p = model.predict_interval(PEOPLE[["age", "region"]]), model.predict_proba(PEOPLE[["age", "region"]])[:, 1]
    stated = ~np.isnan(band[:, 0])
    assert band.shape == (len(p), 2)
    assert np.all((band[stated, 0] < p[stated]) & (p[stated] < band[stated, 1]))


def test_a_summary_without_changes_of_the_formula():
    """The command leaves out what is empty: no changes where the formula is the one asked for."""
    term = {"term": "age", "estimate": 0.5, "standard_error": 0.1, "low": 0.3, "high": 0.7, "state": "reported"}
    effects = {"level": 0.95, "formula": "intercept + age", "unit": "log-odds", "meaning": "robust", "coefficients": [term]}
    report = {"protects": "a row", "epsilon": 1, "delta": 1e-6, "relation": "replace-one", "records": 9, "algorithm": "onestep"}
    report |= {"steps": 1, "of": 1, "releases": 3, "table": "people"}
    said = lambda: str(summarize("fit", "ill", report, {"terms": []}, {"epsilon": 1, "delta": 1e-6, "fits": 1}, effects))
    same = said()
    assert "intercept + age" in same and "0.3" in same and "Changed" not in same
    effects["changes"] = ["region=east is in other"]
    assert "Changed from what was asked for: region=east is in other." in said()


def test_contrasts_by_hand():
    """The noise of a difference from a covariance, a bound without one, and of several classes."""
    terms = [
        {"column": "c", "term": "c=b", "reference": "c=a", "value": 2.0, "noise_sd": 2.0},
        {"column": "c", "term": "c=d", "reference": "c=a", "value": 5.0, "noise_sd": 3.0},
        {"column": "", "term": "intercept", "value": 1.0, "noise_sd": 1.0},
    ]
    with_covariance = {"terms": terms, "noise": "estimated", "covariance": [[4, 5, 0], [5, 9, 0], [0, 0, 1]], "references": {"c": "a"}}
    assert contrast(with_covariance, {"c=d": 1, "c=b": -1}, None).noise_sd == pytest.approx(np.sqrt(4 + 9 - 10))
    assert contrast(with_covariance, {"c=d": 1, "c=a": -1}, None).noise_sd == 3
    for unit, want in {
        "log-odds of “1”": "the odds of “1” are multiplied by 20.09 (odds ratio)",
        "the logarithm of the expected visits": "the expected visits is multiplied by 20.09 (rate ratio)",
        "units of price": "price is predicted 3 higher",
    }.items():
        assert contrast({**with_covariance, "unit": unit}, {"c=d": 1, "c=b": -1}, None).meaning == want
    bounded = {**with_covariance, "noise": "bounded", "covariance": None}
    assert contrast(bounded, {"c=d": 2, "c=b": -1}, None).noise_sd == 8
    unknown = {**bounded, "noise": "not stated", "terms": [{**t, "noise_sd": None} for t in terms]}
    assert contrast(unknown, {"c=d": 1}, None) == type(contrast(unknown, {}, None))(5.0, None, "not stated")
    assert {n: c.value for n, c in levels(bounded, "c", "d", None).items()} == {"c=a": -5, "c=b": -3}
    classes = {**bounded, "terms": [{**t, "class": k, "value": t["value"] * f} for t in terms for k, f in (("x", 1), ("y", 10))]}
    assert contrast(classes, {"c=b": 1}, "y").value == 20
    across = contrast(classes, {"x: c=b": 2, "y: c=d": -1, "y: c=a": 7}, None)
    assert across.value == 2 * 2 - 50 and across.noise_sd == 2 * 2 + 3
    with pytest.raises(ValueError, match="class_ = 'z': must be one of"):
        contrast(classes, {"c=b": 1}, "z")
    with pytest.raises(ValueError, match=r"term 'c=b': must be one of \['x: c=b', 'y: c=b', .*'x: c=a', 'y: c=a'\]"):
        contrast(classes, {"c=b": 1}, None)
    with pytest.raises(ValueError, match="class_ = None: must be one of"):
        levels(classes, "c", "", None)
    with pytest.raises(ValueError, match="class_: must not be given"):
        contrast(bounded, {"c=b": 1}, "x")


def test_the_total_is_of_the_tables_name(tmp_path):
    """A fit of another table in the folder is not in spent_."""
    X = PEOPLE[["age"]]
    fit = lambda table: classifier(tmp_path, bounds=(18, 90), train={"algorithm": "gd", "steps": 2}).set_params(table=table).fit(X, ILL)
    fit("one")
    fit("two")
    with pytest.warns(SpentWarning, match="2 fits of one"):
        assert fit("one").spent_["fits"] == 2
    assert json.loads((tmp_path / "fit-0003" / "configuration.yaml").read_text())["table"] == "one"
