package report

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
)

// cost makes the section of the page about the privacy cost of the run and the meaning of that cost for a
// person.
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
		{Name: "Releases", Value: Number(float64(v.Events)), Note: "noisy answers; everything else follows from them"},
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
				Note: "in Gaussian differential privacy: recognising a person’s row is as hard as telling N(0, 1) from N(μ, 1). " +
					"Fixed before the first release: this is the guarantee"},
			Fact{Name: "Spent (running total)", Value: Above(v.Charged, 5),
				Note: fmt.Sprintf("of μ² = %s, the largest total of a row; for information", digits(c.Mu*c.Mu, 5))})
	}
	s.Parts = append(s.Parts, facts)
	for _, t := range v.Trusted {
		s.Parts = append(s.Parts, Note("Trusted, not enforced by the program: "+t))
	}
	s.Parts = append(s.Parts,
		Text("The meaning for one person: the curve bounds every attack on the releases, also those that may raise "+
			"only few false alarms. Where an attack cannot tell, it does as well as a coin."),
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
		Title: "Charged to a row, release by release",
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
		Caption: "Each release is a sum over a fresh Poisson sample of the rows, plus Gaussian noise of the multiplier " +
			"times the clip norm.",
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
		return []Part{Note("The folder’s ledger does not hold this fit’s reservation: the cost of " +
			"other fits of the same table is not known here. Every fit costs a budget of its own.")}
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
		Caption: "From this folder’s ledger; fits in other folders are not in it. A reservation counts in full whatever " +
			"became of its run.",
	}
	for _, r := range same[max(0, len(same)-mostRows):] {
		outcome := r.Outcome
		if outcome == "" {
			outcome = "not ended"
		}
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
			parts = append(parts,
				Note(fmt.Sprintf("All %d fits of this table together cost ε = %s at δ = %s: so much has been "+
					"charged to a person in it.", len(same), Above(epsilon, 4), exact(c.Delta))))
		} else {
			parts = append(parts,
				Note(fmt.Sprintf("This table has been fitted %d times, under relations that do not compose: the guarantees add up.",
					len(same))))
		}
	} else {
		parts = append(parts, Text("Fitting the same table again costs a second budget."))
	}
	return parts
}

// Reservation is the entry of a fit in a folder's ledger: the budget that was reserved before the first
// release, and the outcome of the fit.
type Reservation struct {
	Time      time.Time
	Fit       int
	Data      string // the table's identity: a path or a name
	Algorithm string
	account.Guarantee
	Schedule []account.SampledSteps
	// Outcome is "settled", "interrupted", or "" for a run that has not ended or was killed. The whole
	// reservation counts in every case.
	Outcome string
	Charged float64
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
		list = append(list, Reservation{
			Time: e.Time, Fit: e.Fit, Data: e.Data, Algorithm: e.Algorithm, Guarantee: e.Guarantee,
			Schedule: e.Schedule,
		})
	}
	return list, nil
}

// composed returns the mechanisms for which the budget was reserved, as input for the function Compose of
// package mechanism: the schedule's mechanisms, or one Gaussian mechanism if there is no schedule.
func (r Reservation) composed() ([]mechanism.Composed, error) {
	if len(r.Schedule) == 0 {
		m, err := mechanism.NewGaussian(1 / r.Mu)
		return []mechanism.Composed{{Mechanism: m, Count: 1}}, err
	}
	// mu is 0, because the schedule covers the whole budget.
	return composeSchedule(r.Schedule, 0, r.Relation)
}

// composeSchedule returns the mechanisms of a schedule. If mu > 0, a Gaussian mechanism with this
// mu stands for all releases that are not in the schedule.
func composeSchedule(schedule []account.SampledSteps, mu float64, r account.Relation) ([]mechanism.Composed, error) {
	var all []mechanism.Composed
	for _, s := range schedule {
		m, err := mechanism.NewSampledGaussian(s.NoiseMultiplier, s.Sampling, r)
		if err != nil {
			return nil, err
		}
		all = append(all, mechanism.Composed{Mechanism: m, Count: s.Count})
	}
	if mu > 0 {
		m, err := mechanism.NewGaussian(1 / mu)
		if err != nil {
			return nil, err
		}
		all = append(all, mechanism.Composed{Mechanism: m, Count: 1})
	}
	return all, nil
}

// together returns an upper bound on the epsilon of the composition of all reservations in list, at the
// given delta. ok is false if the reservations do not compose, for example because their relations or
// privacy units differ.
func together(ctx context.Context, list []Reservation, delta float64) (epsilon float64, ok bool) {
	var all []mechanism.Composed
	for _, r := range list {
		parts, err := r.composed()
		if err != nil || !r.Adds(list[0].Guarantee) {
			return 0, false
		}
		all = append(all, parts...)
	}
	c, err := mechanism.Compose(ctx, all, 1e-3)
	if err != nil {
		return 0, false
	}
	b, err := c.Epsilon(ctx, delta)
	return b.Upper, err == nil
}

// baseName returns the last part of a path with / or \ as separator.
func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}
