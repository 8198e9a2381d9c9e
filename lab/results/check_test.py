"""Tests of pages.py and recipes.py: python3 lab/results/check_test.py. They run nothing that is measured."""

import pathlib
import re
import unittest

import check
import recipes
from pages import COUNT, HERE, cells, count, counts, leads, like, numbers, tables

PAGE = """# Page
text

| a | b |
|---|---|
| x | 1.5 (1 to 2) |

```
| no | table |
|---|---|
| 1 | 2 |
```

## Part

| c |
|---|
| 1 |
| 2 |

| d |
|---|
| 3 |
"""


class Pages(unittest.TestCase):
    def test_tables_are_found_by_heading_and_order(self):
        found = [(t.heading, t.nth, t.line, [r.line for r in t.rows]) for t in tables(PAGE, "page.md")]
        self.assertEqual(found, [("Page", 0, 4, [6]), ("Part", 0, 16, [18, 19]), ("Part", 1, 21, [23])])

    def test_numbers_are_read_as_they_are_written(self):
        for cell, values in {
            "-.137": [-0.137],
            "3.7e-4": [3.7e-4],
            "1,000": [1000],
            "10^-6": [1e-6],
            ".046-.21": [0.046, 0.21],
            "-.70 (-.81 to -.61)": [-0.7, -0.81, -0.61],
            "2.23e-2 (101)": [0.0223, 101],
            "tanh-net": [],
            "a6127db": [],
            "1.0e-3-2.0e-3": [1e-3, 2e-3],
            ".385 +- .015": [0.385, 0.015],
            "2.68; .589": [2.68, 0.589],
        }.items():
            got = numbers(cell)
            self.assertEqual(len(got), len(values), cell)
            for n, v in zip(got, values):
                self.assertAlmostEqual(n.value, v, msg=cell)
        self.assertEqual([n.unit for n in numbers("3.7e-4 1,000 .25")], [1e-5, 1, 0.01])

    def test_a_value_is_written_like_another(self):
        for text, value, want in (
            ("3.7e-4", 0.00412, "4.1e-3"),
            (".150", 0.1284, ".128"),
            ("-.137", -0.0049, "-.0049"),
            (".055", 0.0389, ".039"),
            ("1,000", 12345.6, "12,346"),
            (".98", 1.02, "1.02"),
            ("0", 0.1818, ".18"),
            ("1", 0.8182, ".82"),
            ("1", 1, "1"),
            (".00", 3e-5, "3.0e-5"),
            ("2.50", 0.5, "0.50"),
        ):
            self.assertEqual(like(text, value), want)


class Recipes(unittest.TestCase):
    maxDiff = None

    def every(self):
        return [t for path in sorted(HERE.glob("*.md")) for t in tables(path.read_text(), path.name)]

    def test_every_table_has_a_recipe_or_a_reason(self):
        self.assertEqual([t.name for t in self.every() if check.recipe_of(t) is None], [])

    def test_every_recipe_and_reason_has_a_table(self):
        used = [check.recipe_of(t) for t in self.every()]
        for r in [*recipes.RECIPES, *recipes.REASONS]:
            self.assertTrue(
                any(r is u for u in used), f"{r.page}: {r.heading}: no table, or one that another entry has"
            )

    def test_recipes_know_every_column_and_figure(self):
        for t in self.every():
            r = check.recipe_of(t)
            if isinstance(r, recipes.Runs):
                self.assertEqual(len(r.columns), len(t.header), t.name)
                for spec in r.specs:
                    self.assertTrue((HERE / "specs" / f"{spec}.yaml").exists(), spec)
            for f in check.figures(t, r):
                self.assertFalse(
                    str(f.ask).startswith(("number", "no command", "no figure")), f"{t.page}:{f.line}: {f.ask}"
                )

    def seeds(self, spec):
        return int(re.search(r"(?m)^seeds: (\d+)", (HERE / "specs" / f"{spec}.yaml").read_text())[1])

    def test_tables_are_of_as_many_runs_as_their_specifications(self):
        """The text nearest to a table that says of how many runs it is, says it of the table's specifications."""
        wrong = []
        for path in sorted(HERE.glob("*.md")):
            for table, texts in leads(path.read_text(), path.name):
                r = check.recipe_of(table)
                if not isinstance(r, recipes.Runs):
                    continue
                said = next((n for text in texts if (n := counts(text))), set())
                want = {self.seeds(spec) for spec in r.specs}
                column = any(isinstance(c, recipes.At) and c.measures == ("runs",) for c in r.columns)
                if said != want and not column:
                    wrong.append(f"{table.name}: medians of {said or 'nobody knows how many'}: want {want}")
                for row in table.rows:
                    for m in COUNT.finditer(" ".join(row.cells)):
                        if count(m[0]) not in want:
                            wrong.append(f"{table.page}:{row.line}: {m[0]}: want {want}")
        self.assertEqual(wrong, [])

    def test_paragraphs_name_specifications_of_as_many_runs(self):
        wrong = []
        for path in sorted(HERE.glob("*.md")):
            for text in re.split(r"\n\n+|```", path.read_text()):
                named = set(re.findall(r"(?:specs/|`)([\w-]+)\.yaml`", text))
                named = {n for n in named if (HERE / "specs" / f"{n}.yaml").exists()}
                if named and counts(text) != {self.seeds(n) for n in named}:
                    wrong.append(f"{path.name}: {sorted(named)}: medians of {counts(text)} runs")
        self.assertEqual(wrong, [])

    def test_every_specification_has_a_table(self):
        used = {spec for r in recipes.RECIPES for spec in getattr(r, "specs", [])} | recipes.ALONE
        self.assertEqual({p.stem for p in pathlib.Path(HERE / "specs").glob("*.yaml")} - used, set())


class Figures(unittest.TestCase):
    def table(self):
        return tables(
            "# P\n\n| family | n | a (h = 1) | b |\n|---|---|---|---|\n| tanh (5) | 1e4 | 2.0e-3 (.5) | 7 |\n"
            "| | 1e5 | 3 (4) | 8 |\n",
            "p.md",
        )[0]

    def test_runs_are_asked_for_by_fields(self):
        r = recipes.Runs(
            "p.md",
            "P",
            ["s"],
            [
                recipes.Key("family"),
                recipes.Key("records"),
                recipes.At(("g", "S1"), {"label": "a of {family}"}),
                "a target",
            ],
        )
        got = [(f.line, f.column, f.written, f.ask) for f in check.figures(self.table(), r)]
        first = {"family": "tanh (5)", "records": 1e4, "label": "a of tanh (5)"}
        second = {**first, "records": 1e5}
        self.assertEqual(
            got,
            [
                (5, 2, 2e-3, (first, "g")),
                (5, 2, 0.5, (first, "S1")),
                (5, 3, 7, "a target"),
                (6, 2, 3, (second, "g")),
                (6, 2, 4, (second, "S1")),
                (6, 3, 8, "a target"),
            ],
        )

    def test_printed_rows_are_found_by_their_keys(self):
        r = recipes.Printed("p.md", "P", "make", [0, 1], {2: 3, 3: 2}, {2: 0.1}, before="Here")
        commands = check.Commands(pathlib.Path("."), None, True)
        commands.read["make"] = (
            "| tanh (5) | 10000 | 1 | 1 |\nHere\n| tanh (5) | 10000 | 70 | 2.1e-3 (.6) |\n"
            "| tanh (5) | 1e5 | 80 | 30 (40) |\n"
        )
        found = {(f.line, f.column, f.written): commands.find(r, *f.ask) for f in check.figures(self.table(), r)}
        self.assertEqual(found[5, 2, 2e-3].value, 2.1e-3)
        self.assertAlmostEqual(found[5, 2, 2e-3].low, 1.89e-3)
        self.assertEqual(
            [found[key].value for key in ((5, 2, 0.5), (5, 3, 7), (6, 2, 3), (6, 3, 8))], [0.6, 70, 30, 80]
        )

    def test_quotients_are_made_again(self):
        r = recipes.Printed("p.md", "P", "make", [0, 1], {2: 2, 3: (3, 2)}, {})
        commands = check.Commands(pathlib.Path("."), None, True)
        commands.read["make"] = "| tanh (5) | 1e4 | 4 | 6 |\n| tanh (5) | 1e5 | 0 | 6 |\nAt 2 it is 3, of 4.\n"
        found = {(f.line, f.column, f.written): commands.find(r, *f.ask) for f in check.figures(self.table(), r)}
        self.assertEqual(found[5, 3, 7].value, 1.5)
        self.assertIsNone(found[6, 3, 8])
        self.assertEqual(commands.search("make", "^At 2 it is (\\d), of (\\d)", 1, "quotient", 0).value, 0.75)

    def test_ends_and_fields(self):
        self.assertEqual(check.ends(2, 1, 5, "slope.low"), check.Found(1, -1, 3))
        self.assertTrue(check.fits({"effective_size": 2044.3, "family": "tanh"}, {"N": 2000, "family": "tanh", "n": 3}))
        self.assertFalse(check.fits({"effective_size": 2200, "family": "tanh"}, {"N": 2000}))
        self.assertFalse(check.fits({"family": "ramp"}, {"family": "tanh"}))

    def test_cells_keep_bars_that_are_escaped(self):
        self.assertEqual(cells("| a \\| b | c |"), ["a \\| b", "c"])


if __name__ == "__main__":
    unittest.main()
