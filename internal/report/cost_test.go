package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
)

// TestNeighboursToTheLetter tests every text about the neighbouring tables and the privacy unit: of rows and of units, of all and
// of those that a filter keeps, under both relations. The epsilon that the page computes again has six digits.
func TestNeighboursToTheLetter(t *testing.T) {
	unit := account.Unit{Column: "person", Rows: 3, Count: account.Mean}
	for _, c := range []struct {
		relation account.Relation
		unit     account.Unit
		filtered bool
		want     string
		note     string
	}{
		{account.ReplaceOne, account.Unit{}, false, "; the number of rows is public", "several rows of one person are protected less"},
		{account.ReplaceOne, account.Unit{}, true, "; the number of such rows is public", "several rows of one person are protected less"},
		{account.AddOrRemove, account.Unit{}, false, "; the number of rows is secret, and was declared", "several rows of one person are protected less"},
		{account.AddOrRemove, account.Unit{}, true, "; the number of rows is secret, and was declared", "several rows of one person are protected less"},
		{account.ReplaceOne, unit, false, "; the number of values of " + unit.String() + " is public", unit.Note()},
		{account.ReplaceOne, unit, true, "; the number of such values of " + unit.String() + " is public", unit.Note()},
		{account.AddOrRemove, unit, false, "; the number of values of " + unit.String() + " is secret, and was declared", unit.Note()},
	} {
		f := people(t, "p", 4)
		b, err := account.NewBudget(.765432109, 1e-6, c.relation)
		if err != nil {
			t.Fatal(err)
		}
		f.budget, f.events, f.unit, f.noModel = b, gradients(t, 4, b), c.unit, true
		f.complete = false
		if !c.filtered {
			f.schema.Where = ""
		}
		fit := read(t, f)
		a, err := fit.attack(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := fit.cost(t.Context(), a)
		want := c.unit.Neighbour(account.Filter(f.filter(t)), c.relation) + c.want
		if fact := factOf(t, s, "Neighbouring tables"); fact.Note != want || fact.Value != c.relation.String() {
			t.Errorf("%+v: %+v: must be %q", c, fact, want)
		}
		if fact := factOf(t, s, "Privacy unit"); fact.Note != c.note || fact.Value != c.unit.Record() {
			t.Errorf("%+v: %+v", c, fact)
		}
		if fact := factOf(t, s, "Guarantee"); fact.Value != "ε = 0.765432109, δ = 10⁻⁶" || fact.Note != "recomputed here from the certificate: ε = 0.765433" {
			t.Errorf("%+v", fact)
		}
		filter := slices.ContainsFunc(s.Parts[0].(Facts), func(f Fact) bool { return f.Name == "Row filter" })
		if filter != c.filtered {
			t.Errorf("%+v: the filter is shown: %v", c, filter)
		}
	}
}

// TestLongLedgersEnd: of more reservations than rows the table has the last ones, and their total counts all of them, at the delta
// of this fit.
func TestLongLedgersEnd(t *testing.T) {
	f := people(t, "p", 4)
	other, err := account.NewBudget(.01, 1e-8, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	own := strings.SplitAfter(entries(f.budget, "/t.csv", "/t.csv"), "\n")
	f.ledger = entries(other, "/t.csv") + own[2] + own[3]
	fit := read(t, f)
	first, last := fit.Reservations[0], fit.Reservations[1]
	fit.Reservations = nil
	for i := range mostRows + 2 {
		r := first
		r.Algorithm = fmt.Sprint("a", i)
		fit.Reservations = append(fit.Reservations, r)
	}
	fit.Reservations = append(fit.Reservations, last)
	parts := fit.ledger(t.Context())
	rows := parts[0].(Table).Rows
	if len(rows) != mostRows || rows[0].Cells[1] != "a3" || rows[mostRows-2].Cells[1] != fmt.Sprint("a", mostRows+1) || rows[mostRows-1].Cells[5] != "settled (this one)" {
		t.Errorf("%d rows: %v to %v", len(rows), rows[0].Cells, rows[len(rows)-1].Cells)
	}
	fit.Reservations = fit.Reservations[mostRows+1:]
	var list []ledgerfile.Entry
	for _, r := range fit.Reservations {
		list = append(list, r.Entry)
	}
	epsilon, err := ledgerfile.Together(t.Context(), list, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(fit.ledger(t.Context())[1]), "All 2 fits of this table together cost ε = "+Above(epsilon, 4)+" at δ = 10⁻⁶."; !strings.HasPrefix(got, want) {
		t.Errorf("%s: must begin %s", got, want)
	}
}

// TestAttacksOnSchedulesCountOtherReleases: releases beside a schedule of samples make the attack at least as good as on them alone,
// and better than on the samples alone.
func TestAttacksOnSchedulesCountOtherReleases(t *testing.T) {
	steps := account.SampledSteps{NoiseMultiplier: 2, Sampling: .25, Count: 1}
	f := scheduled(t, steps)
	alone, err := read(t, f).attack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const mu = .5
	if f.schedule, err = account.NewSchedule(t.Context(), f.budget, mu, steps); err != nil {
		t.Fatal(err)
	}
	both, err := read(t, f).attack(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, alarm := range both.alarms {
		if alarm < .01 || alarm > .9 {
			continue
		}
		if least := gaussianPower(mu, alarm); both.detected[i] < least || both.detected[i] < alone.detected[i]+.01 || both.detected[i] > least+.3 {
			t.Errorf("at %v: %v, of the samples alone %v, of the others alone %v", alarm, both.detected[i], alone.detected[i], least)
		}
	}
	if least := normal(mu / 2); both.right < least || both.right < alone.right+.01 || both.right > least+.1 {
		t.Errorf("right guesses: %v, of the samples alone %v, of the others alone %v", both.right, alone.right, least)
	}
}

// TestOwnReservationIsOfTheSameGuarantee: a fit's own reservation is the last one of its epsilon, delta and relation. A later one
// that differs in one of the three alone is of another fit: the page names neither its table nor its outcome.
func TestOwnReservationIsOfTheSameGuarantee(t *testing.T) {
	fit := read(t, people(t, "p", 4))
	claim := fit.Certificate.Claim()
	own := Reservation{Entry: ledgerfile.Entry{Fit: 1, Data: "/own.csv", Guarantee: claim}}
	for name, change := range map[string]func(*account.Guarantee){
		"epsilon":  func(g *account.Guarantee) { g.Epsilon /= 2 },
		"delta":    func(g *account.Guarantee) { g.Delta /= 2 },
		"relation": func(g *account.Guarantee) { g.Relation = account.AddOrRemove },
	} {
		other := Reservation{Entry: ledgerfile.Entry{Fit: 2, Data: "/other.csv", Guarantee: claim}}
		change(&other.Guarantee)
		fit.Reservations = []Reservation{own, other}
		if got, ok := fit.own(); !ok || got.Fit != 1 {
			t.Errorf("another %s: the own reservation is %+v, %v", name, got.Entry, ok)
		}
		if table := factOf(t, fit.asked(), "Table"); table.Value != "own.csv" {
			t.Errorf("another %s: the table is %q", name, table.Value)
		}
		fit.Reservations = []Reservation{other}
		if got, ok := fit.own(); ok {
			t.Errorf("another %s: the own reservation is %+v where there is none", name, got.Entry)
		}
	}
	fit.Reservations = []Reservation{own, {Entry: ledgerfile.Entry{Fit: 2, Data: "/own.csv", Guarantee: claim}}}
	if got, ok := fit.own(); !ok || got.Fit != 2 {
		t.Errorf("of two alike the own reservation is %+v, %v", got.Entry, ok)
	}
}
