package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// cost makes the section of the page about the privacy cost of the run and the meaning of that cost for a person.
func (f *Fit) cost(ctx context.Context, a attack) Section {
	c, v := f.Certificate.Claim(), f.verified
	filter, unit := f.Certificate.Filter(), f.Certificate.Unit()
	counted, note := "rows", "several rows of one person are protected less"
	if unit != (account.Unit{}) {
		counted, note = "values of "+unit.String(), unit.Note()
	}
	neighbours := unit.Neighbour(filter, c.Relation) + "; the number of " + counted + " is public"
	if c.Relation == account.AddOrRemove {
		neighbours = unit.Neighbour(filter, c.Relation) + "; the number of " + counted + " is secret, and was declared"
	} else if filter != (account.Filter{}) {
		neighbours = unit.Neighbour(filter, c.Relation) + "; the number of such " + counted + " is public"
	}
	s := Section{Title: "The cost to people"}
	facts := Facts{
		{Name: "Guarantee", Value: fmt.Sprintf("ε = %s, δ = %s", exact(c.Epsilon), exact(c.Delta)),
			Note: fmt.Sprintf("recomputed here from the certificate: ε = %s", Above(v.Recomputed, 6))},
		{Name: "Neighbouring tables", Value: c.Relation.String(), Note: neighbours},
		{Name: "Privacy unit", Value: unit.Record(), Note: note},
		{Name: "Releases", Value: Number(float64(v.Events)), Note: "noisy answers; all published numbers follow from them"},
	}
	if filter != (account.Filter{}) {
		facts = append(facts, Fact{Name: "Row filter", Value: filter.String(), Note: filter.Note()})
	}
	sampled := f.Certificate.Basis() == certificate.BasisSchedule
	if sampled {
		facts = append(facts, Fact{Name: "Basis", Value: "a schedule",
			Note: "Poisson samples, fixed before the first release and composed by their privacy-loss distributions"})
	} else {
		facts = append(facts,
			Fact{Name: "Budget (privacy filter)", Value: "μ = " + Above(c.Mu, 5),
				Note: passage("budget of a filter")},
			Fact{Name: "Spent (running total)", Value: Above(v.Charged, 5),
				Note: fmt.Sprintf("of μ² = %s, the largest total of a row; this is no guarantee", digits(c.Mu*c.Mu, 5))})
	}
	s.Parts = append(s.Parts, facts)
	for _, t := range v.Trusted {
		s.Parts = append(s.Parts, Note("Trusted, not enforced by the program: "+t))
	}
	s.Parts = append(s.Parts, Text(passage("meaning for a person")),
		a.plot(c.Epsilon, c.Delta), a.table())
	if sampled {
		s.Parts = append(s.Parts, f.scheduleTable())
	} else if len(f.Certificate.Events()) > 0 {
		s.Parts = append(s.Parts, f.chargePlot())
	}
	s.Parts = append(s.Parts, f.ledger(ctx)...)
	return s
}

// chargePlot draws, after each release, the largest total charge of a row so far, in units of mu^2. A
// release charges either all rows or the rows of one cohort.
func (f *Fit) chargePlot() Plot {
	c := f.Certificate.Claim()
	var everyone, most float64
	cohorts := make(map[uint64]float64)
	x, y := []float64{0}, []float64{0}
	for i, e := range f.Certificate.Events() {
		if e.Cohort == account.Everyone {
			everyone += e.Charge
		} else {
			cohorts[e.Cohort] += e.Charge
			most = max(most, cohorts[e.Cohort])
		}
		x, y = append(x, float64(i+1)), append(y, everyone+most)
	}
	return Plot{
		Title: "Total charge of a row after each release",
		Caption: "The filter admits a release only while the total stays below the dashed line, μ². " +
			capital(f.plan.Charges),
		X:          Axis{Label: "release"},
		Y:          Axis{Label: "charged so far (units of μ²)", Min: 0, Max: 1.08 * c.Mu * c.Mu},
		Series:     []Series{{Name: "charged", X: x, Y: y, Style: Steps}},
		References: []Reference{Level("budget μ²", c.Mu*c.Mu)},
	}
}

// capital makes a sentence of s, a description of how the budget was divided. It returns "" if s is empty.
func capital(s string) string {
	if s == "" {
		return ""
	}
	return "How the budget was divided: " + s + "."
}

func (f *Fit) scheduleTable() Table {
	t := Table{
		Title:   "The schedule",
		Columns: []Column{{"Releases", true}, {"Noise multiplier", true}, {"Share of rows sampled", true}},
		Caption: passage("schedule"),
	}
	for _, r := range f.schedule[:min(len(f.schedule), mostRows)] {
		t.Rows = append(t.Rows, Row{Cells: []string{Number(float64(r.Count)), digits(r.NoiseMultiplier, 5),
			exact(r.Sampling)}})
	}
	return t
}

// ledger lists the reservations in the folder's ledger that are on the same table as this fit, at most the
// last mostRows. If there are several, and they compose, it states their total privacy loss. If the ledger
// does not hold this fit's own reservation, it returns only a note.
func (f *Fit) ledger(ctx context.Context) []Part {
	own, ok := f.own()
	if !ok {
		return []Part{Note(passage("no reservation"))}
	}
	var same []Reservation
	others := 0
	for _, r := range f.Reservations {
		if r.Data == own.Data {
			same = append(same, r)
		} else {
			others++
		}
	}
	t := Table{
		Title: "Budgets reserved on this table",
		Columns: []Column{{"Reserved (UTC)", false}, {"Algorithm", false}, {"Relation", false}, {"ε", true}, {"δ", true},
			{"Outcome", false}},
		Caption: passage("reserved budgets"),
	}
	for _, r := range same[max(0, len(same)-mostRows):] {
		outcome := cmp.Or(r.Outcome, "not ended")
		if r.Fit == own.Fit {
			outcome += " (this one)"
		}
		t.Rows = append(t.Rows, Row{Cells: []string{r.Time.UTC().Format("2006-01-02 15:04:05"), r.Algorithm,
			r.Relation.String(), exact(r.Epsilon), exact(r.Delta), outcome}})
	}
	if others > 0 {
		t.Caption += " " + count(others, "reservation of another table is", "reservations of other tables are") + " left out."
	}
	parts := []Part{t}
	if len(same) > 1 {
		c := f.Certificate.Claim()
		if epsilon, ok := together(ctx, same, c.Delta); ok {
			parts = append(parts, Note(fmt.Sprintf("All %d fits of this table together cost ε = %s at δ = %s. This is the "+
				"privacy loss of a person in it.", len(same), Above(epsilon, 4), exact(c.Delta))))
		} else {
			parts = append(parts, Note(fmt.Sprintf("This table has been fitted %d times. The total privacy loss is "+
				"not stated: it needs fits with the same relation and the same privacy unit.", len(same))))
		}
	} else {
		parts = append(parts, Text("Fitting the same table again costs a second budget."))
	}
	return parts
}

// Reservation is the entry of a fit in a folder's ledger: the budget that was reserved before the first
// release, and the outcome of the fit.
type Reservation struct {
	// Entry is the entry of the reservation, with the charge at the fit's end.
	ledgerfile.Entry
	// Outcome is "settled", "interrupted", or "" for a run that has not ended or was killed. The whole
	// reservation counts in every case.
	Outcome string
}

// ParseLedger reads the lines of a ledger file. It ignores an incomplete last line, since nothing was
// released under it. It returns an error for any other invalid line.
func ParseLedger(text []byte) ([]Reservation, error) {
	entries, err := ledgerfile.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("report: ledger: %w", err)
	}
	var list []Reservation // entry i is the fit with the number i+1
	for _, e := range entries {
		if e.Entry != ledgerfile.Reserved {
			list[e.Fit-1].Outcome, list[e.Fit-1].Charged = e.Entry, e.Charged
			continue
		}
		list = append(list, Reservation{Entry: e})
	}
	return list, nil
}

// together returns an upper bound on the epsilon of the composition of all reservations in list, at the given delta. ok
// is false if the reservations do not compose, for example because their relations or privacy units differ.
func together(ctx context.Context, list []Reservation, delta float64) (epsilon float64, ok bool) {
	var entries []ledgerfile.Entry
	for _, r := range list {
		if !r.Adds(list[0].Guarantee) {
			return 0, false
		}
		entries = append(entries, r.Entry)
	}
	epsilon, err := ledgerfile.Together(ctx, entries, delta)
	return epsilon, err == nil
}

// baseName returns the last part of a path with / or \ as separator.
func baseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// attack describes the best attack on one row by an adversary who sees all releases and knows every other
// row. The adversary must decide whether the row was in the table (relation add-or-remove) or which of two
// given rows was in the table (replace-one).
type attack struct {
	// alarms and detected are points of the attack's curve (a ROC curve). For an attack whose false-alarm probability
	// is alarms[i], detected[i] is an upper bound on the probability that it recognises the row.
	alarms, detected []float64
	// right is an upper bound on the probability of a right guess if the two possible cases are equally likely: (1 +
	// d)/2, where d is the guarantee's delta at epsilon 0 (a bound on the total variation distance).
	right float64
	// gaussian reports that the attack's curve is the curve of mu-GDP, at every false-alarm probability. If
	// gaussian is false, mu is unset and the curve is known only at the points in alarms.
	gaussian bool
	mu       float64
	relation account.Relation
}

// alarms returns the 101 false-alarm probabilities, from 0 to 1, at which an attack's curve is computed and
// drawn. The probabilities are denser near 0.
func alarms() []float64 {
	return vector.Make(101, func(i int) float64 {
		x := float64(i) / 100
		return float64(x * x)
	})
}

// normal is the distribution function of the standard normal distribution.
func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// quantile is the inverse of the function normal, for 0 < p < 1.
func quantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }

// gaussianPower returns the power of the best test whose false-alarm probability is alarm, under
// mu-Gaussian differential privacy: 1 minus the trade-off function (Dong, Roth and Su 2022).
func gaussianPower(mu, alarm float64) float64 {
	switch {
	case alarm <= 0:
		return 0
	case alarm >= 1:
		return 1
	}
	return normal(quantile(alarm) + mu)
}

// pairPower returns the greatest power that a test with the false-alarm probability alarm can have against
// a mechanism of which only (epsilon, delta)-DP is known.
func pairPower(epsilon, delta, alarm float64) float64 {
	gain := 0.0
	if alarm > 0 { // e^epsilon may be infinite
		gain = math.Exp(epsilon) * alarm
	}
	return 1 - max(0, 1-delta-gain, math.Exp(-epsilon)*(1-delta-alarm))
}

// attack returns the best attack on the fit's releases. For a schedule of Poisson samples, the attack's
// curve is computed by composing the schedule's steps. For any other fit, the curve follows from mu.
func (f *Fit) attack(ctx context.Context) (attack, error) {
	c := f.Certificate.Claim()
	a := attack{alarms: alarms(), relation: c.Relation}
	if f.Certificate.Basis() != certificate.BasisSchedule {
		a.gaussian, a.mu = true, c.Mu
		a.detected = vector.Map(a.alarms, func(x float64) float64 { return gaussianPower(c.Mu, x) })
		a.right = normal(c.Mu / 2)
		return a, nil
	}
	parts, err := ledgerfile.Entry{Guarantee: c, Schedule: f.schedule}.Composed()
	if err == nil && c.Mu > 0 { // all releases that are not in the schedule
		var rest mechanism.Mechanism
		rest, err = mechanism.NewGaussian(1 / c.Mu)
		parts = append(parts, mechanism.Composed{Mechanism: rest, Count: 1})
	}
	if err != nil {
		return a, err
	}
	composition, err := mechanism.Compose(ctx, parts, 1e-3)
	if err != nil {
		return a, err
	}
	curve, err := composition.TradeOff(ctx, a.alarms)
	if err != nil {
		return a, err
	}
	a.detected = vector.Map(curve, func(b mechanism.Bracket) float64 { return min(1, 1-b.Lower) })
	zero, err := composition.Delta(ctx, 0)
	a.right = min(1, (1+zero.Upper)/2)
	return a, err
}

// guess states, in one sentence for readers, the probability that the attacker guesses right.
func (a attack) guess() string {
	right := percent(a.right, true)
	if a.relation == account.AddOrRemove {
		return fmt.Sprintf("Somebody who knows every other row and sees everything that was released guesses whether a "+
			"given person’s row was in the table, and is right at most %s of the time. A coin is right 50 %% of the time.",
			right)
	}
	return fmt.Sprintf("Somebody who knows all rows but one, knows that this one belongs to one of two people, and "+
		"sees everything that was released, guesses the right one at most %s of the time. A coin is right 50 %% of the time.",
		right)
}

// at returns an upper bound on the attack's curve at the false-alarm probability alarm, which need not be
// in the list alarms. Between two known points, the bound is the value at the point with the larger
// false-alarm probability, because the curve never falls.
func (a attack) at(alarm float64) float64 {
	if a.gaussian {
		return gaussianPower(a.mu, alarm)
	}
	for i, x := range a.alarms {
		if x >= alarm {
			return a.detected[i]
		}
	}
	return 1
}

// plot draws the attack's curve, and for comparison the curve of the strongest attack that (epsilon, delta)
// alone would allow.
func (a attack) plot(epsilon, delta float64) Plot {
	pair := vector.Map(a.alarms, func(x float64) float64 { return pairPower(epsilon, delta, x) })
	return Plot{
		Title:   "The best attack on one person's row",
		Caption: passage("attack"),
		X:       Axis{Label: "false alarms (share of rows that were not in the table)", Min: 0, Max: 1},
		Y:       Axis{Label: "recognised (share of rows that were)", Min: 0, Max: 1},
		Series: []Series{
			{Name: "this guarantee", X: a.alarms, Y: a.detected, Style: Line},
			{Name: "(ε, δ) alone", X: a.alarms, Y: pair, Style: Line},
		},
		References: []Reference{{Name: "a coin", X: []float64{0, 1}, Y: []float64{0, 1}}},
	}
}

// table lists the attack's curve at five false-alarm probabilities from 0.1 % to 50 %.
func (a attack) table() Table {
	t := Table{
		Title:   "The same in numbers",
		Columns: []Column{{"False alarms", true}, {"Recognised, at most", true}, {"By a coin", true}},
	}
	for _, x := range []float64{.001, .01, .05, .1, .5} {
		t.Rows = append(t.Rows, Row{Cells: []string{percent(x, false), percent(a.at(x), true), percent(x, false)}})
	}
	return t
}
