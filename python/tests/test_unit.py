"""Several rows a person, and weights of rows: what is written, what is refused, and what a fit then promises."""

import warnings

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("sklearn", "1.6")
pandas = pytest.importorskip("pandas")
from feeding import rows, written
from sklearn.base import clone

from stillpoint import StillpointClassifier, StillpointRegressor

PERSONS, ROWS = 1500, 4000
coin = np.random.default_rng(5)
PERSON = np.arange(ROWS) % PERSONS
AGE = coin.uniform(0, 100, ROWS)
ILL = np.where(AGE > 50, "yes", "no")
VISITS = pandas.DataFrame({"age": AGE, "person": PERSON, "ill": ILL})


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def classifier(folder, **more):
    fixed = {"epsilon": 4, "delta": 1e-6, "relation": "replace-one", "folder": folder, "table": "visits", "progress": False}
    return StillpointClassifier(**{**fixed, "classes": ["no", "yes"], "bounds": {"age": (0, 100)}, **more})


UNIT = {"column": "person", "rows": 3}


def test_a_column_names_the_person(tmp_path):
    """1,500 persons are 1,500 records, whose column is no feature; the next fit's sum is of persons, too."""
    model = classifier(tmp_path, unit=UNIT, outcome="ill").fit(VISITS)
    assert model.report_["records"] == PERSONS and model.report_["complete"]
    assert model.certificate_["unit"] == {"column": "person", "rows": 3, "count": "mean"}
    assert list(model.feature_names_out_) == ["age"]
    assert (model.predict(VISITS[["age"]]) == ILL).mean() > 0.9  # without the person, who is not needed to predict
    assert model.spent_["unit"] == "person" and model.spent_["fits"] == 1
    by_row = classifier(tmp_path, outcome="ill", ignore="others").fit(VISITS)
    assert by_row.report_["records"] == ROWS and "unit" not in by_row.spent_ and by_row.spent_["fits"] == 1
    assert clone(model).fit(VISITS).spent_["fits"] == 2


def test_an_array_names_the_person(tmp_path):
    """Beside the frame, or a plain array of numbers, and as texts. add-or-remove needs the number of persons."""
    X = VISITS[["age"]]
    model = classifier(tmp_path, unit={"rows": 3}).fit(X, ILL, unit=[f"p{i}" for i in PERSON])
    assert model.report_["records"] == PERSONS and model.certificate_["unit"]["column"] == "unit"
    model = classifier(tmp_path, unit=UNIT, bounds=(0, 100), relation="add-or-remove", records=PERSONS)
    model.fit(X.to_numpy(), ILL, unit=PERSON)
    assert model.report_["records"] == PERSONS and model.certificate_["unit"]["column"] == "person"
    with pytest.raises(ValueError, match="records: must be given under add-or-remove"):
        classifier(tmp_path, unit=UNIT, relation="add-or-remove").fit(VISITS, ILL)


def tables():
    """A table of two columns in every make, with the persons beside it."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    values = {"age": [1.5, 2.0, 3.0], "person": [7, 8, 7]}
    yield pandas.DataFrame(values)
    yield polars.DataFrame(values)
    yield pyarrow.table(values)


def test_persons_are_texts_of_a_last_column_but_one():
    """Equal numbers have equal texts, whatever the types of the array and of the table."""
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    named = {"unit": UNIT, "bounds": {"age": (0, 100)}, "ignore": ()}
    beside = {"unit": {"column": "who", "rows": 1}, "bounds": {"age": (0, 100)}, "ignore": ["person"]}
    same = [np.array([7.0, 8, 7]), [7, 8, 7], pandas.Series([7, 8, 7]), polars.Series([7, 8, 7]), pyarrow.chunked_array([[7, 8, 7]])]
    floats = pandas.DataFrame({"age": [1.5, 2.0, 3.0], "person": [7.0, 8.0, None]})
    assert [r[1] for r in rows(written(classifier("unused", **named), floats, ["no", "yes", "no"]))[1:]] == ["7", "8", ""]
    for X in tables():
        text = rows(written(classifier("unused", **named), X, ["no", "yes", "no"]))
        assert text[0] == ["age", "person", "y"] and [r[1] for r in text[1:]] == ["7", "8", "7"]
        for persons in same:
            text = rows(written(_Fits(classifier("unused", **beside), persons), X, ["no", "yes", "no"]))
            assert text[0] == ["age", "who", "y"] and [r[1:] for r in text[1:]] == [["7", "no"], ["8", "yes"], ["7", "no"]]


def test_persons_beyond_a_part():
    """Rows are written 50,000 at a time, and each has its person."""
    X = np.zeros((50_002, 1))
    text = rows(written(_Fits(classifier("unused", unit={"rows": 1}, bounds=(0, 1)), np.arange(50_002)), X, ["no"] * 50_002))
    assert [r[1] for r in text[-2:]] == ["50000", "50001"] and text[1][1] == "0"


class _Fits:
    """An estimator whose fit gets persons."""

    def __init__(self, model, persons):
        self._model, self._persons = model, persons

    def fit(self, X, y):
        return self._model.fit(X, y, unit=self._persons)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


class Odd:
    def __str__(self):
        raise ValueError("person 4711")

    __eq__ = __hash__ = None


def test_no_cell_of_a_person_shows(tmp_path):
    """Neighbouring tables: a person who cannot be read is no error, and her rows are not used."""
    people = [Odd(), None, float("nan"), "a\0b", "\ud800", 1 + 2j, b"\xff", *PERSON[7:].tolist()]
    for persons in (people, np.array(people, dtype=object), pandas.Series(people, dtype=object)):
        text = rows(written(_Fits(classifier("unused", unit={"rows": 1}), persons), VISITS[["age"]], ILL))
        assert [r[1] for r in text[1:8]] == [""] * 7 and text[8][1] == "7" and len(text) == ROWS + 1
    model = classifier(tmp_path / "fits", unit={"rows": 1}).fit(VISITS[["age"]], ILL, unit=people)
    assert model.report_["complete"]


def test_refusals_are_of_names_and_shapes(tmp_path):
    for bad in (8, "person", {}, {"column": "person"}, {"rows": 0, "column": "person"}, {"rows": True, "column": "person"},
                {"rows": 2.5, "column": "person"}, {**UNIT, "sum": 1}):  # fmt: skip
        with pytest.raises(ValueError, match="must be {'column': a name, 'rows'"):
            classifier(tmp_path / "fits", unit=bad, ignore="others").fit(VISITS, ILL)
    for more, given, why in (
        ({"unit": {"column": "who", "rows": 1}}, None, "unit.column = 'who': must be a column of X, or unit be given"),
        ({"unit": {"rows": 1}}, None, "unit.column = None: must be a column of X"),
        ({"unit": UNIT}, PERSON, "unit.column = 'person': must not be a column of X if unit is given"),
        ({"unit": {"rows": 1}}, PERSON[1:], "unit: has 3999 entries: must have one for each of the 4000 rows"),
        ({}, PERSON, "unit: was given to fit alone"),
        ({"unit": UNIT, "bounds": {"person": (0, 9)}}, None, "unit = 'person': must not be in bounds"),
        ({"unit": UNIT, "outcome": "person"}, None, "unit = 'person': must not be in bounds, .* nor be another"),
        ({"unit": UNIT, "weight": "person"}, None, "weight = 'person': must not be in bounds, .* nor be another"),
        ({"weight": "age"}, None, "weight = 'age': must not be in bounds"),
        ({"weight": "w"}, None, "weight = 'w': must be a column of X"),
    ):
        with pytest.raises(ValueError, match=why):
            classifier(tmp_path / "fits", **{"ignore": "others", **more}).fit(VISITS, ILL, unit=given)
    assert not (tmp_path / "fits").exists()


def test_a_weight_is_how_much_a_row_counts(tmp_path):
    """Half of the rows say the opposite, with weight 0: the model does not learn from them."""
    lies = np.arange(ROWS) % 2 == 0
    said = np.where(lies, np.where(AGE > 50, "no", "yes"), ILL)
    frame = pandas.DataFrame({"age": AGE, "w": np.where(lies, 0.0, 1.0), "ill": said})
    model = classifier(tmp_path, weight="w", outcome="ill").fit(frame)
    assert model.report_["records"] == ROWS
    assert (model.predict(frame[["age"]]) == ILL).mean() > 0.9
    header, first, *_ = rows(written(classifier("unused", weight="w", outcome="ill"), frame, None))
    assert header == ["age", "w", "ill"] and float(first[1]) == 0
    X = frame.assign(w=True)[["age", "w"]]
    assert rows(written(classifier("unused", weight="w"), X, said))[1][1] == "1"


def test_a_formula_and_a_regressor_take_them(tmp_path):
    pytest.importorskip("formulaic")
    frame = VISITS.assign(w=1.0, cost=AGE * 10)
    fixed = {"epsilon": 4, "delta": 1e-6, "relation": "replace-one", "folder": tmp_path, "table": "visits", "progress": False}
    bounds = {"age": (0, 100), "cost": (0, 1000)}
    model = StillpointRegressor.from_formula("cost ~ age", bounds=bounds, unit=UNIT, weight="w", **fixed).fit(frame)
    assert model.report_["records"] == PERSONS and list(model.feature_names_out_) == ["age"]
