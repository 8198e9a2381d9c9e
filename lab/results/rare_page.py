"""Tables of Markdown of what lab/results/rare.py measured: losses, verdicts, and what went wrong."""

import collections
import json
import math
import pathlib
import statistics

from rare_tables import GENERATED, TASKS


def read(files):
    return [json.loads(line) for f in files for line in pathlib.Path(f).read_text().splitlines()]


def number(v, unit):
    """A difference of losses, in thousandths where unit is .001; more digits where it is small."""
    v /= unit
    return f"{v:.1f}" if abs(v) < 100 else f"{v:.0f}"


class Verdict:
    """What is true of a fit and of what was said of it. A claim speaks of the table: of the rows that the fit saw."""

    def __init__(self, row):
        c = row.get("compared") or {}
        self.said = row.get("verdict") or "none"
        self.false = (self.said == "better" and row["fit_table"] > 0) or (self.said == "worse" and row["fit_table"] < 0)
        over = {"better": row["fit_gain"], "worse": -row["fit_gain"]}.get(self.said, 0)
        self.held = over > 2 * row["fit_error"]
        self.shrunk = c.get("shrunk", 0)
        self.outside = self.loss_outside(c, row)
        self.missed = self.share_missed(row)

    @staticmethod
    def share_missed(row):
        """Whether the interval of the share saved misses the true one, on the table; counts print no share."""
        s = row.get("saved")
        if not s or not TASKS[row["task"]].classes:
            return None
        return not s["low"] <= -row["fit_table"] / row["constant_table"] <= s["high"]

    @staticmethod
    def loss_outside(c, row):
        """Whether the constant's loss lies outside the printed one plus and minus 1.96 of its errors."""
        if c.get("constant") is None or "released" not in row:
            return None
        truth = row["released"]
        return abs(c["constant"] - truth) > 1.96 * c["constant_sigma"]


def cells(rows):
    out = collections.defaultdict(list)
    for r in rows:
        out[r["task"], r.get("draw", 1), r["epsilon"], r["rule"]].append(r)
    return out


def gains(rows):
    return [r["gain"] for r in rows or [] if "gain" in r]


def mean_worst(rows, unit):
    g = gains(rows)
    return f"{number(statistics.mean(g), unit)} ({number(max(g), unit)})" if g else "-"


def refused(rows):
    return any("refused" in r for r in rows or [])


def page(args):
    references = read([args.references])
    rows, by = read(args.files), cells(read(args.files))
    plain = {(r["task"], r["draw"]): r for r in references if r["reference"] == "without privacy"}
    boosted = collections.defaultdict(list)
    for r in references:
        if r["reference"] == "DP-EBM":
            boosted[r["task"], r["epsilon"]].append(r)
    keys = list(dict.fromkeys(k[:3] for k in by))
    for counts in (False, True):
        some = [k for k in keys if bool(TASKS[k[0]].counts) == counts]
        if not some:
            continue
        print("| table | epsilon | default | compare: off | best other | DP-EBM | without privacy | constant |" +
              ("" if counts else " AUC: default | best other | DP-EBM | without |"))  # fmt: skip
        print("|" + "---|" * (8 if counts else 12))
        for key in some:
            losses(key, by, plain, boosted)
        print()
    verdicts(rows)
    print()
    totals(rows, by)


def losses(key, by, plain, boosted):
    """Prints the losses of a table at an epsilon, less that of the constant: thousandths, or the deviance of counts."""
    task, draw, epsilon = key
    p, counts = plain.get((task, draw)), TASKS[task].counts
    unit = 1 if counts else 0.001
    of = {rule: by.get((*key, rule), []) for rule in ("default", "off", "nesterov", "gd")}
    fits = [r for r in of["default"] if "gain" in r]
    best = min((rule for rule in ("nesterov", "gd") if gains(of[rule])), default=None,
               key=lambda rule: statistics.mean(gains(of[rule])))  # fmt: skip
    ebm = boosted.get((task, epsilon), [])
    auc = [statistics.median(r["auc"] for r in some if "auc" in r) if any("auc" in r for r in some) else None
           for some in (fits, of[best] if best else [], ebm, [p] if p else [])]  # fmt: skip
    line = [
        task if TASKS[task] not in GENERATED else f"{task}, draw {draw}",
        f"{epsilon:g}" + (" (refused)" if refused(of["default"]) else ""),
        mean_worst(of["default"], unit), mean_worst(of["off"], unit),
        f"{mean_worst(of[best], unit)} {best}" if best else "-", mean_worst(ebm, unit) if len(ebm) > 1 else
        number(ebm[0]["gain"], unit) if ebm else "-", number(p["gain"], unit) if p else "-",
        f"{p['constant'] / unit:.4g}" if p else "-",
    ]  # fmt: skip
    if not counts:
        line += ["-" if a in (None, 0) else f"{a:.3f}" for a in auc]
    print("| " + " | ".join(line) + " |")


def verdicts(rows):
    """Prints what was said of the compared fits of each table, at all epsilons, and how often it was false."""
    print("| table | compared fits | better | false | worse | false | unclear | no verdict | "
          "constant's loss outside its interval | share saved outside its interval | kept |")
    print("|" + "---|" * 11)
    fits = [r for r in rows if r["rule"] == "default" and r.get("compared")]
    names = list(dict.fromkeys(r["task"] for r in fits))
    for name in [*names, "all"]:
        said = [Verdict(r) for r in fits if name in ("all", r["task"])]
        of = {w: [v for v in said if v.said == w] for w in ("better", "worse", "unclear", "none")}
        out = [v.outside for v in said if v.outside is not None]
        missed = [v.missed for v in said if v.missed is not None]
        print("| " + " | ".join(map(str, [
            name, len(said), len(of["better"]), sum(v.false for v in of["better"]), len(of["worse"]),
            sum(v.false for v in of["worse"]), len(of["unclear"]), len(of["none"]), f"{sum(out)} of {len(out)}",
            f"{sum(missed)} of {len(missed)}",
            f"{100 * (1 - statistics.mean(v.shrunk for v in said)):.0f}%"])) + " |")  # fmt: skip


def totals(rows, by):
    fits = [r for r in rows if r["rule"] == "default" and "gain" in r]
    for anyway in (False, True):
        said = [(Verdict(r), r) for r in fits if r.get("anyway", False) == anyway and r.get("compared")]
        print(f"\n{'Refused, fitted anyway' if anyway else 'Verdicts'}: {len(said)} compared fits")
        for word in ("better", "worse", "unclear"):
            some = [(v, r) for v, r in said if v.said == word]
            print(f"- {word}: {len(some)}, false on the table {sum(v.false for v, _ in some)}, "
                  f"on held-out rows {sum(v.held for v, _ in some)}")  # fmt: skip
        out = [v.outside for v, _ in said if v.outside is not None]
        print(f"- the constant's printed loss is outside its interval: {sum(out)} of {len(out)}")
    behind = []
    for (task, draw, epsilon, rule), some in by.items():
        if rule != "default":
            continue
        d, o = gains([r for r in some]), gains(by.get((task, draw, epsilon, "off")))
        if len(d) < 2 or len(o) < 2:
            continue
        sd = math.sqrt(statistics.variance(d) / len(d) + statistics.variance(o) / len(o))
        gap = statistics.mean(d) - statistics.mean(o)
        if gap > 2 * sd and gap > 1e-5:
            behind.append((gap / max(abs(statistics.mean(o)), 1e-9), task, draw, epsilon, gap, sd, max(d), max(o)))
    print(f"\nMean of the default above that of compare: off by more than two standard errors: {len(behind)} cells")
    for share, task, draw, epsilon, gap, sd, wd, wo in sorted(behind, reverse=True):
        print(f"- {task}, draw {draw}, epsilon {epsilon:g}: {gap:.4g} +- {sd:.2g} ({100 * share:.0f}% of the gain); "
              f"worst {wd:.4g}, off {wo:.4g}")  # fmt: skip
    above = [r for r in rows if "gain" in r and r["rule"] in ("default", "off") and r["table"] > 0 and not r["anyway"]]
    above = [r for r in above if r["table"] > 0.01 * r["constant_table"]]
    print(f"\nAbove the constant, on the table, by more than 1% of its loss: {len(above)} fits")
    worst = collections.defaultdict(list)
    for r in above:
        worst[r["task"], r["draw"], r["epsilon"], r["rule"]].append(r["table"])
    for k, v in sorted(worst.items(), key=lambda kv: -max(kv[1])):
        print(f"- {k[0]}, draw {k[1]}, epsilon {k[2]:g}, {k[3]}: {len(v)} fits, worst {max(v):.4g}")
