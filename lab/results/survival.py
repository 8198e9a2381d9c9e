"""Measures fits of the time to an event and writes survival.md.

    python3 survival.py STILLPOINT [--out survival.md]

needs numpy, pandas, lifelines, scikit-learn and SurvSet. Simulated tables have the log hazard ratios 1.2 and .7. The
real tables are those of SurvSet 0.2.11 (its docs name the source of each); a third of their rows, drawn once, is for
testing. Each figure of a private fit is the mean over SEEDS fits, with the standard deviation between fits.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter
from lifelines.utils import concordance_index

SEEDS = 5


def simulated(n, seed, rate):
    r = np.random.default_rng(seed)
    sex, age = r.integers(0, 2, n), np.clip(r.normal(60, 10, n), 30, 90)
    at = r.exponential(1, n) / (rate * np.exp(1.2 * sex + 0.07 * (age - 60)))
    until = r.uniform(1, 3, n)
    died = at <= until
    return pd.DataFrame({"age": age.round(3), "sex": np.where(sex, "m", "f"),
                         "time": (365 * np.minimum(at, until)).round(2), "event": died.astype(int)})


def fit(program, folder, table, columns, target, epsilon, more=""):
    (folder / "t.csv").write_text(table.to_csv(index=False))
    (folder / "t.yaml").write_text("data: t.csv\nschema:\n  columns:\n" + "".join(f"    {c}\n" for c in columns)
                                   + f"  target: {target}\n{more}"
                                   + f"privacy: {{epsilon: {epsilon}, delta: 1e-6, relation: replace-one}}\n")
    subprocess.run(f"rm -rf m && {program} fit t.yaml --out m --anyway", shell=True, cwd=folder, check=True, capture_output=True)


def coefficients(program, folder):
    shown = subprocess.run([program, "coefficients", "m"], cwd=folder, check=True, capture_output=True, text=True).stdout
    age = float(re.search(r"^age .*more\s+(\S+)", shown, re.M)[1]) * 10
    return float(re.search(r"^sex=m\s+sex=f\s+(\S+)", shown, re.M)[1]), age


def evaluated(program, folder, table):
    (folder / "test.csv").write_text(table.to_csv(index=False))
    out = subprocess.run([program, "evaluate", "m/model.json", "test.csv", "--json"], cwd=folder, check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)


def scores(program, folder, table, column):
    (folder / "test.csv").write_text(table.to_csv(index=False))
    out = subprocess.run([program, "predict", "m/model.json", "test.csv"], cwd=folder, check=True, capture_output=True,
                         text=True).stdout.splitlines()
    at = out[0].split(",").index(column)
    return np.array([float(line.split(",")[at]) for line in out[1:]])


def spread(values):
    return f"{np.mean(values):.3f} ± {np.std(values):.3f}"


def shown_simulated(program, folder):
    lines = ["| persons | events | true | without privacy (Cox) | epsilon 1 | baseline hazard, largest error |",
             "|---|---|---|---|---|---|"]
    for n in (20_000, 100_000):
        for rate in (0.03, 0.1, 0.3):
            found, cox, worst, events = [], [], [], []
            for seed in range(SEEDS):
                t = simulated(n, seed, rate)
                fit(program, folder, t, ["age: {number: [30, 90]}", "sex: {category: [f, m]}"],
                    "{time: time, event: event, cuts: [180, 365, 730, 1095]}", 1, "model: {family: lines}\n")
                found.append(coefficients(program, folder))
                hazards = json.loads((folder / "m/model.json").read_text())["schema"]["target"]["hazards"]
                worst.append(np.abs(np.cumsum(hazards) - np.array([180, 365, 730, 1095]) / 1095).max())
                events.append(t.event.mean())
                if seed < 1:
                    c = CoxPHFitter().fit(t.assign(sex=(t.sex == "m") * 1.0), "time", "event").params_
                    cox.append((c.sex, 10 * c.age))
            f = np.array(found)
            lines.append(f"| {n:,} | {np.mean(events):.0%} | 1.2, .7 | {cox[0][0]:.3f}, {cox[0][1]:.3f} | "
                         f"{spread(f[:, 0])}, {spread(f[:, 1])} | {np.mean(worst):.3f} |")
            print(lines[-1], flush=True)
    return lines


# The columns of each table, the end of the time that is modelled, and the bounds of its numbers, which are round numbers
# around what is plausible. Other columns are categories with the values of the table.
TABLES = {
    "flchain": (["num_age", "num_creatinine", "num_flc_grp", "fac_sex"], 5000,
                {"num_age": [50, 100], "num_creatinine": [0, 5], "num_flc_grp": [1, 10]}),
    "support2": (["num_age", "num_num_co", "num_meanbp", "num_hrt", "num_temp", "fac_sex", "fac_dzgroup", "fac_ca"], 1800,
                 {"num_age": [18, 100], "num_num_co": [0, 9], "num_meanbp": [0, 200], "num_hrt": [0, 250],
                  "num_temp": [32, 42]}),
    "prostateSurvival": (["fac_grade", "fac_stage", "fac_ageGroup"], 120, {}),
    "rott2": (["num_age", "num_nodes", "num_progesterone", "num_estrogen", "fac_meno", "fac_hormon", "fac_chemo",
               "fac_grade", "fac_tsize"], 200,
              {"num_age": [20, 100], "num_nodes": [0, 40], "num_progesterone": [0, 5000], "num_estrogen": [0, 3500]}),
    "hdfail": (["num_temp", "fac_rsc", "fac_rer", "fac_psc"], 2000, {"num_temp": [10, 60]}),
}


def real(name):
    from SurvSet.data import SurvLoader
    return SurvLoader().load_dataset(ds_name=name)["df"]


def shown_real(program, folder):
    lines = ["| table | rows to fit | events | Cox, no privacy | epsilon 1 | epsilon 3 | logistic yes/no at half of the time, "
             "epsilon 1 | integrated Brier score at 1 |", "|---|---|---|---|---|---|---|---|"]
    for name, of in TABLES.items():
        use, end, bounds = of
        t = real(name)
        t = t[["time", "event", *use]].copy()
        columns = []
        for c in use:
            if c in bounds:
                columns.append(f"{c}: {{number: {bounds[c]}}}")
            else:
                t[c] = t[c].astype(str)
                levels = sorted(t[c].unique())
                columns.append(f"{c}: {{category: {json.dumps(levels)}}}")
        r = np.random.default_rng(7)
        held = r.random(len(t)) < 1 / 3
        train, test = t[~held], t[held]
        wide = pd.get_dummies(t[use].fillna(t[use].median(numeric_only=True)), drop_first=True, dtype=float)
        cox = CoxPHFitter(penalizer=1e-4).fit(wide[~held].assign(time=np.maximum(train.time, 1e-6), event=train.event),
                                               "time", "event")
        best = concordance_index(test.time, -cox.predict_partial_hazard(wide[held]), test.event)
        private = {}
        brier = []
        for epsilon in (1, 3):
            private[epsilon] = []
            for _ in range(SEEDS):
                fit(program, folder, train, columns, f"{{time: time, event: event, number: [0, {end}]}}", epsilon)
                m = evaluated(program, folder, test)
                private[epsilon].append(m["concordance"])
                if epsilon == 1:
                    brier.append(m["integrated_brier"])
        half, yes = end / 2, []
        known = (train.time >= half) | (train.event == 1)
        for _ in range(SEEDS):
            fit(program, folder, train[known].assign(y=np.where((train.time <= half) & (train.event == 1), "yes", "no")[known]),
                columns + ["time: ignore", "event: ignore"], "{column: y, classes: [\"no\", \"yes\"]}", 1,
                "model: {loss: logistic}\n")
            s = scores(program, folder, test, "probability")
            yes.append(concordance_index(test.time, -s, test.event))
        lines.append(f"| {name} | {len(train):,} | {train.event.mean():.0%} | {best:.3f} | {spread(private[1])} | "
                     f"{spread(private[3])} | {spread(yes)} | {np.mean(brier):.3f} |")
        print(lines[-1], flush=True)
    return lines


def shown_intervals(program, folder):
    covered, widths = {"age": [], "sex=m": []}, {"age": [], "sex=m": []}
    for seed in range(60):
        fit(program, folder, simulated(20_000, 1000 + seed, 0.1), ["age: {number: [30, 90]}", "sex: {category: [f, m]}"],
            "{time: time, event: event, cuts: [180, 365, 730, 1095]}", 1, "inference: {level: 0.95}\n")
        out = subprocess.run([program, "coefficients", "m"], cwd=folder, check=True, capture_output=True, text=True).stdout
        for term, true in (("age", 0.07), ("sex=m", 1.2)):
            m = re.search(rf"^{term} .*?(-?[0-9.]+) to (-?[0-9.]+)", out, re.M)
            if m:
                covered[term].append(float(m[1]) <= true <= float(m[2]))
                widths[term].append(float(m[2]) - float(m[1]))
    return [f"{t}: {sum(c)} of {len(c)} covered, mean width {np.mean(widths[t]):.4f}" for t, c in covered.items()]


def shown_marginal():
    """Estimates without noise, with the hazard of all records together and after one and two updates of it."""
    lines, cuts = [], np.array([180, 365, 730, 1095])
    for rate in (0.1, 0.3):
        t = simulated(200_000, 1, rate)
        x = np.c_[(t.sex == "m") * 1.0, (t.age - 60) / 10, np.ones(len(t))]
        low = np.r_[0, cuts[:-1]]
        shares = (np.clip(t.time.to_numpy()[:, None], low, cuts) - low) / (cuts - low)
        died = t.event.to_numpy().astype(float)
        events = np.bincount(np.minimum(np.searchsorted(cuts, t.time), 3), died, 4)
        hazard, w = events / shares.sum(0), np.zeros(3)
        for update in range(3):
            for _ in range(30):
                rise = shares @ hazard * np.exp(x @ w)
                w += np.linalg.solve(x.T @ (x * rise[:, None]), x.T @ (died - rise))
            lines.append(f"{t.event.mean():.0%} events, {update} updates: {w[0]:.3f}, {w[1]:.3f}")
            hazard = events / (shares * np.exp(x @ w)[:, None]).sum(0)
    return lines


CROSSING = {365: 0.5, 730: 1.0, 1095: 2.0}  # hazard ratios of a drug until these days


def crossing(n, seed):
    """Persons of whom half take a drug whose hazard ratio is .5 in the first year, 1 in the second and 2 in the third."""
    r = np.random.default_rng(seed)
    drug, age = r.integers(0, 2, n), np.clip(r.normal(60, 10, n), 30, 90)
    left, at, start = r.exponential(1, n), np.full(n, 9999.0), 0
    for end, ratio in CROSSING.items():
        rate = 0.25 / 365 * np.exp(0.05 * (age - 60)) * np.where(drug == 1, ratio, 1)
        now = (left > 0) & (left <= rate * (end - start))
        at[now] = start + left[now] / rate[now]
        left, start = np.where(now, -1, left - rate * (end - start)), end
    until = r.uniform(365, 1460, n)
    return pd.DataFrame({"age": age.round(3), "drug": np.where(drug == 1, "yes", "no"),
                         "time": np.minimum(at, until).round(2), "event": (at <= until).astype(int)})


def shown_changing(program, folder):
    """Hazard ratios by interval, of a column whose hazard ratios change, beside Cox regression within each interval."""
    lines = ["| persons | epsilon | interval | true | Cox in the interval, no privacy | estimate | covered | mean width of the log |",
             "|---|---|---|---|---|---|---|---|"]
    for n, epsilon, seeds in ((20_000, 1, 20), (100_000, 1, 5)):
        found, cox, score, plain = {}, {}, [], []
        for seed in range(seeds):
            t = crossing(n, 300 + seed)
            columns, cuts = ["age: {number: [30, 90]}", 'drug: {category: ["no", "yes"]}'], "cuts: [365, 730, 1095]"
            fit(program, folder, t, columns, f"{{time: time, event: event, changing: drug, {cuts}}}", epsilon,
                "inference: {level: 0.95}\n")
            out = subprocess.run([program, "coefficients", "m", "--json"], cwd=folder, check=True, capture_output=True, text=True).stdout
            for ratio in json.loads(out)["hazard_ratios"]:
                found.setdefault(ratio["to"], []).append((ratio["hazard_ratio"], ratio["low"], ratio["high"]))
            if seed < 5:
                test = crossing(20_000, 900 + seed)
                score.append(evaluated(program, folder, test)["integrated_brier"])
                fit(program, folder, t, columns, f"{{time: time, event: event, {cuts}}}", epsilon, "model: {family: lines}\n")
                plain.append(evaluated(program, folder, test)["integrated_brier"])
                for start, end in zip([0, 365, 730], CROSSING):
                    in_it = t[t.time > start]
                    c = CoxPHFitter().fit(in_it.assign(drug=(in_it.drug == "yes") * 1.0, event=in_it.event * (in_it.time <= end),
                                                       time=np.minimum(in_it.time, end) - start), "time", "event").params_
                    cox.setdefault(end, []).append(np.exp(c.drug))
        for end, of in found.items():
            f = np.array(of)
            covered = np.sum((f[:, 1] <= CROSSING[end]) & (CROSSING[end] <= f[:, 2]))
            lines.append(f"| {n:,} | {epsilon} | to {end} | {CROSSING[end]} | {np.mean(cox[end]):.3f} | {spread(f[:, 0])} | "
                         f"{covered} of {len(f)} | {np.log(f[:, 2] / f[:, 1]).mean():.3f} |")
            print(lines[-1], flush=True)
        lines.append(f"integrated Brier score on new persons: {np.mean(score):.4f}, with proportional hazards {np.mean(plain):.4f}")
        print(lines[-1], flush=True)
    return lines


def shown_measures(program, folder):
    """The measures of evaluate beside those of lifelines and scikit-survival, of one fit on times without ties."""
    from sksurv.metrics import brier_score, concordance_index_ipcw
    from sksurv.util import Surv
    r = np.random.default_rng(5)
    t = simulated(5_000, 5, 0.3)
    t["time"] += r.uniform(0, 0.004, len(t))  # no ties
    t["time"] = t.time.round(7)
    fit(program, folder, t, ["age: {number: [30, 90]}", "sex: {category: [f, m]}"],
        "{time: time, event: event, cuts: [180, 365, 730, 1095]}", 5, "model: {family: lines}\n")
    scored = scores(program, folder, t, "score")
    hazards = np.r_[0, np.cumsum(json.loads((folder / "m/model.json").read_text())["schema"]["target"]["hazards"])]
    lines = ["| horizon | measure | evaluate | others | difference |", "|---|---|---|---|---|"]
    (folder / "test.csv").write_text(t.to_csv(index=False))
    y = Surv.from_arrays(t.event == 1, t.time)
    for horizon in (180, 500, 900):
        out = subprocess.run([program, "evaluate", "m/model.json", "test.csv", "--json", "--horizon", str(horizon)], cwd=folder,
                             check=True, capture_output=True, text=True).stdout
        m = json.loads(out)
        at = np.minimum(t.time, horizon).max() * np.arange(1, 101) / 101
        survival = np.exp(-np.exp(scored)[:, None] * np.interp(np.r_[at, horizon], [0, 180, 365, 730, 1095], hazards)[None, :])
        briers = brier_score(y, y, survival, np.r_[at, horizon])[1]
        early = (t.event == 1) & (t.time <= horizon)
        others = {"concordance": ("lifelines", concordance_index(np.minimum(t.time, horizon), -scored, early)),
                  "concordance_uno": ("scikit-survival", concordance_index_ipcw(y, y, scored, tau=horizon)[0]),
                  "brier": ("scikit-survival", briers[-1]), "integrated_brier": ("scikit-survival", briers[:-1].mean())}
        for name, (whose, value) in others.items():
            lines.append(f"| {horizon} | {name} | {m[name]:.6f} | {value:.6f} ({whose}) | {abs(m[name] - value):.0e} |")
    return lines


def in_years(n, seed, hazard, years=6):
    """Persons whose time is known by the year: the hazard of a year is .7 to 1.3 times the given one, 5% leave each year."""
    r = np.random.default_rng(seed)
    sex, age = r.integers(0, 2, n), np.clip(r.normal(60, 10, n), 30, 90)
    time, event, there = np.full(n, years), np.zeros(n, int), np.ones(n, bool)
    for j, of in enumerate(hazard * np.linspace(0.7, 1.3, years)):
        for leaves, died in ((r.random(n) < -np.expm1(-of * np.exp(1.2 * (sex - 0.5) + 0.07 * (age - 60))), 1), (r.random(n) < 0.05, 0)):
            time[there & leaves], event[there & leaves] = j + 1, died
            there &= ~leaves
    return pd.DataFrame({"age": age.round(3), "sex": np.where(sex, "m", "f"), "time": time, "event": event})


def likeliest(t, years=6):
    """The log hazard ratios of the discrete-time model of complementary log-log hazards without privacy."""
    from scipy.optimize import minimize
    x = np.c_[t.sex == "m", (t.age - 60) / 10]
    last, event = t.time.to_numpy() - 1, t.event.to_numpy() == 1

    def value(w):
        hazard, e = np.exp(w[:years]), np.exp(x @ w[years:])
        sums = np.r_[0, np.cumsum(hazard)]
        u = hazard[last] * e
        rest = np.where(event, u / np.expm1(u), 0)
        slope = np.where(event, sums[last], sums[last + 1]) * e - rest
        whole = np.cumsum(np.bincount(np.where(event, last, last + 1), e, years + 1)[::-1])[::-1][1:]
        gradient = np.r_[hazard * whole - np.bincount(last, rest, years), x.T @ slope]
        return (slope + rest - np.where(event, np.log(-np.expm1(-u)), 0)).sum() / len(t), gradient / len(t)

    return minimize(value, np.r_[np.full(years, -2.0), 0, 0], jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-14}).x[years:]


def in_years_by_odds(n, seed, hazard, years=6):
    """Times in whole years whose odds in each year have the log odds ratios 1.2 and .7."""
    r = np.random.default_rng(seed)
    sex, age = r.integers(0, 2, n), np.clip(r.normal(60, 10, n), 30, 90)
    time, event, there = np.full(n, years), np.zeros(n, int), np.ones(n, bool)
    for j, of in enumerate(hazard * np.linspace(0.7, 1.3, years)):
        odds = of / (1 - of) * np.exp(1.2 * (sex - 0.5) + 0.07 * (age - 60))
        for leaves, died in ((r.random(n) < odds / (1 + odds), 1), (r.random(n) < 0.05, 0)):
            time[there & leaves], event[there & leaves] = j + 1, died
            there &= ~leaves
    return pd.DataFrame({"age": age.round(3), "sex": np.where(sex, "m", "f"), "time": time, "event": event})


def by_glm(t, folder):
    """The log odds ratios of R's glm on a row for each person and year, and its risk of event by year 6 of a woman of 60."""
    t.to_csv(folder / "glm.csv", index=False)
    said = subprocess.run(["Rscript", "-e", "d <- read.csv('glm.csv'); d$a <- (d$age - 60) / 10; r <- d[rep(seq_len(nrow(d)), d$time), ]; "
                           "r$year <- sequence(d$time); r$y <- as.integer(r$event == 1 & r$year == r$time); "
                           "m <- glm(y ~ factor(year) + sex + a, binomial, r); "
                           "p <- predict(m, data.frame(year = 1:6, sex = 'f', a = 0), type = 'response'); "
                           "cat(coef(m)[c('sexm', 'a')], 1 - prod(1 - p))"], cwd=folder, check=True, capture_output=True, text=True).stdout
    return [float(v) for v in said.split()]


def shown_logit(program, folder):
    """Times in whole years with logit hazards, beside R's glm on rows of persons and years."""
    lines = ["| mean hazard of a year | events | glm without privacy | epsilon 1 | epsilon 20 | risk by year 6 at 60, glm | epsilon 1 | epsilon 20 |",
             "|---|---|---|---|---|---|---|---|"]
    for hazard in (0.02, 0.1, 0.2, 0.4):
        found, best, risks, events = {}, [], {}, []
        for seed in range(SEEDS):
            t = in_years_by_odds(20_000, 700 + seed, hazard)
            best.append(by_glm(t, folder))
            events.append(t.event.mean())
            for epsilon in (1, 20):
                fit(program, folder, t, ["age: {number: [30, 90]}", "sex: {category: [f, m]}"],
                    "{time: time, event: event, cuts: [1, 2, 3, 4, 5, 6], grouped: logit}", epsilon, "model: {family: lines}\n")
                found.setdefault(epsilon, []).append(coefficients(program, folder))
                one = pd.DataFrame({"age": [60], "sex": ["f"], "time": [6], "event": [0]})
                risks.setdefault(epsilon, []).append(scores(program, folder, one, "risk")[0])
        b = np.array(best)
        shown = " | ".join(f"{spread(f[:, 0])}, {spread(f[:, 1])}" for f in (b, *(np.array(f) for f in found.values())))
        lines.append(f"| {hazard} | {np.mean(events):.0%} | {shown} | {spread(b[:, 2])} | " + " | ".join(spread(r) for r in risks.values()) + " |")
        print(lines[-1], flush=True)
    return lines


def shown_grouped(program, folder):
    """Times in whole years, with and without grouped, and with an interval for each year in both."""
    lines = ["| mean hazard of a year | events | without privacy | epsilon 1, grouped | epsilon 1, not grouped | epsilon 20, grouped |",
             "|---|---|---|---|---|---|"]
    for hazard in (0.02, 0.1, 0.2, 0.4):
        found, best, events = {}, [], []
        for seed in range(SEEDS):
            t = in_years(20_000, 500 + seed, hazard)
            best.append(likeliest(t))
            events.append(t.event.mean())
            for epsilon, grouped in ((1, "true"), (1, "false"), (20, "true")):
                fit(program, folder, t, ["age: {number: [30, 90]}", "sex: {category: [f, m]}"],
                    f"{{time: time, event: event, cuts: [1, 2, 3, 4, 5, 6], grouped: {grouped}}}", epsilon, "model: {family: lines}\n")
                found.setdefault((epsilon, grouped), []).append(coefficients(program, folder))
        shown = " | ".join(f"{spread(np.array(f)[:, 0])}, {spread(np.array(f)[:, 1])}" for f in (best, *found.values()))
        lines.append(f"| {hazard} | {np.mean(events):.0%} | {shown} |")
        print(lines[-1], flush=True)
    return lines


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--out", default="survival.md")
    p.add_argument("--intervals", action="store_true", help="print the coverage of intervals alone (15 minutes)")
    p.add_argument("--changing", action="store_true", help="print hazard ratios that change between intervals alone")
    p.add_argument("--grouped", action="store_true", help="print estimates of times in whole years alone")
    p.add_argument("--logit", action="store_true", help="print estimates of times in whole years with logit hazards alone")
    p.add_argument("--measures", action="store_true", help="compare measures with lifelines and scikit-survival alone")
    p.add_argument("--marginal", action="store_true", help="print estimates without noise alone")
    a = p.parse_args()
    program = str(pathlib.Path(a.program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        if a.intervals or a.marginal or a.measures or a.changing or a.grouped or a.logit:
            shown = shown_logit if a.logit else shown_grouped if a.grouped else shown_measures if a.measures else shown_changing if a.changing else shown_intervals
            print("\n".join(shown_marginal() if a.marginal else shown(program, pathlib.Path(folder))))
            return
        text = "\n".join(shown_real(program, pathlib.Path(folder))) + "\n\n"
        text += "\n".join(shown_simulated(program, pathlib.Path(folder))) + "\n"
    pathlib.Path(a.out).write_text(text)


if __name__ == "__main__":
    main()
