"""Reads the tables of the pages of lab/results/: which there are, and the numbers in their cells.

A page's numbers are written in several ways (.15, -.137, 3.7e-4, 10^-6, 1,000, .046-.21). A cell may have several,
such as a median and its range; all are read, in order.
"""

import math
import pathlib
import re
from typing import NamedTuple

HERE = pathlib.Path(__file__).parent
RULE = re.compile(r"^\|[-|: ]+\|$")
NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>[-+](?=[.\d]))?(?:10\^(?P<power>-?\d+)"
    r"|(?P<whole>\d{1,3}(?:,\d{3})+(?!\d)|\d*)(?P<point>\.\d+)?(?:e(?P<exponent>[-+]?\d+))?)(?!\w)"
)


class Number(NamedTuple):
    value: float
    unit: float  # of the last digit that is written
    span: tuple[int, int]  # where it stands in its cell


class Row(NamedTuple):
    line: int  # 1 is the page's first line
    cells: list[str]


class Table(NamedTuple):
    page: str
    heading: str  # the nearest heading above, without its signs
    nth: int  # 0 is the heading's first table
    line: int
    header: list[str]
    rows: list[Row]

    @property
    def name(self):
        return f"{self.page}: {self.heading}" + (f", table {self.nth + 1}" if self.nth else "")


def cells(line):
    """Returns the cells of a row of a table, without the spaces around them."""
    return [c.strip() for c in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def tables(text, page):
    """Returns all tables of a page, in order."""
    found, heading, count, fenced = [], "", 0, False
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and re.match(r"#+ ", line):
            heading, count = line.lstrip("# "), 0
        elif not fenced and line.startswith("|") and i + 1 < len(lines) and RULE.match(lines[i + 1]):
            rows = []
            for j in range(i + 2, len(lines)):
                if not lines[j].startswith("|"):
                    break
                rows.append(Row(j + 1, cells(lines[j])))
            found.append(Table(page, heading, count, i + 1, cells(line), rows))
            count += 1
    return found


def numbers(cell):
    """Returns the numbers of a cell, in order. A hyphen right after a digit is that of a range, and no sign."""
    found = []
    for m in NUMBER.finditer(re.sub(r"(?<=\d)-(?=[.\d])", " ", re.sub(r"e-(?=\d)", "e~", cell)).replace("~", "-")):
        if m["power"]:
            found.append(Number(10.0 ** int(m["power"]), 0, m.span()))
        elif m["whole"] or m["point"]:
            exponent = int(m["exponent"] or 0)
            value = float(f"{m['whole'].replace(',', '')}{m['point'] or ''}e{exponent}")
            digits = len(m["point"]) - 1 if m["point"] else 0
            found.append(Number(-value if m["sign"] == "-" else value, 10.0 ** (exponent - digits), m.span()))
    return found


def like(text, value):
    """Returns a value written as the number that text is: as it begins, and with as many decimals.

    Text of two digits after a leading point, such as .055, is answered by two digits, such as .0039.
    """
    mantissa, e, _ = text.partition("e")
    digits = len(mantissa.partition(".")[2])
    if not e and not digits and abs(value) < 1 and value != round(value):
        return like(".00", value)
    if re.fullmatch(r"-?\.0*[1-9]\d+", text) and 0.001 <= abs(value) < 1:
        digits = max(digits, 1 - math.floor(math.log10(abs(value))))
    if e:
        number, _, exponent = f"{value:.{digits}e}".partition("e")
        return f"{number}e{int(exponent)}"
    written = f"{value:{',' if ',' in text else ''}.{digits}f}"
    if float(written.replace(",", "")) == 0 and value:
        return like("1.0e0", value)
    return written.replace("0.", ".", 1) if text.lstrip("-+").startswith(".") and abs(float(written)) < 1 else written


WORDS = ("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
         "eighteen nineteen twenty").split()
COUNT = re.compile(r"\b(\d[\d,]*|" + "|".join(WORDS) + r")\s+(?:runs?|seeds)\b")
SAID = re.compile(r"(?:\b(?:medians|means)\s+(?:\w+\s+)?(?:of|over)\s+)(" + COUNT.pattern + r")|(" + COUNT.pattern
                  + r")\s+each\b", re.I)


def count(text):
    """Returns the number of a text of COUNT."""
    word = COUNT.search(text.lower())[1]
    return WORDS.index(word) + 1 if word in WORDS else int(word.replace(",", ""))


def counts(text):
    """Returns all numbers of runs or seeds that a text says medians are of."""
    return {count(m[0]) for m in SAID.finditer(text)}


def leads(text, page):
    """Returns for each table the paragraphs that lead to it, the nearest first.

    They are those between it and the table or heading before it, then those below the headings above it. Blocks of
    code are left out.
    """
    lines, fenced = text.splitlines(), False
    for i, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if fenced or line.startswith(("```", "    ", "$ ")):
            lines[i] = ""
    found, above, since, at = [], [], 0, {t.line: t for t in tables(text, page)}
    for i, line in enumerate(lines):
        if m := re.match(r"(#+) ", line):
            if above:
                above[-1][1] = above[-1][1] or "\n".join(lines[since:i])
            above = [a for a in above if a[0] < len(m[1])] + [[len(m[1]), ""]]
            since = i
        if i + 1 in at:
            lead = "\n".join(lines[since:i])
            above[-1][1] = above[-1][1] or lead
            texts = [lead] + [a[1] for a in reversed(above)]
            found.append((at[i + 1], [p for text in texts for p in reversed(re.split(r"\n\n+", text))]))
        if line.startswith("|"):
            since = i + 1
    return found
