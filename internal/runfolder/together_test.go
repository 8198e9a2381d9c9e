package runfolder

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestTogetherToTheLetter tests the text about a fit and two earlier ones of the same table: an epsilon that is larger
// than the fit's own comes before the delta.
func TestTogetherToTheLetter(t *testing.T) {
	b, err := account.NewBudget(1.5, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	own := train.Entry{}
	own.Guarantee = b.Guarantee("")
	f := &Fitted{Fitted: &train.Fitted{Planned: train.Planned{Budget: b}, Entry: own}, Earlier: []Entry{own, own}}
	epsilon, ok := f.Sum(t.Context())
	if !ok || epsilon < 2.5 || epsilon > 3 { // sqrt 3 times the mu
		t.Fatal(epsilon, ok)
	}
	text := f.Together(t.Context())
	if want := fmt.Sprintf("with 2 earlier fits of this table: epsilon %.4g at delta 1e-06; every fit costs a budget of its own",
		RoundUp(epsilon)); text != want {
		t.Errorf("%q: must be %q", text, want)
	}
	if f.Earlier = f.Earlier[1:]; !strings.HasPrefix(f.Together(t.Context()), "with 1 earlier fit of this table: epsilon 2.") {
		t.Error(f.Together(t.Context()))
	}
}

// TestWhyFitsDoNotAddUp compares the reasons for which no common epsilon is stated: another relation, before another unit,
// and else none could be computed.
func TestWhyFitsDoNotAddUp(t *testing.T) {
	b, err := account.NewBudget(1.5, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	of := func(r account.Relation, unit string) (e Entry) {
		e.Guarantee = b.Guarantee(unit)
		e.Relation = r
		return e
	}
	const relation, unit, none = "some under another relation: add the guarantees",
		"some for another unit of privacy: their guarantees do not add up to one", "no common epsilon could be computed: add the guarantees"
	odd := func(unit string) Entry { // whose mu has no distribution
		e := of(account.ReplaceOne, unit)
		e.Mu = math.NaN()
		return e
	}
	for _, c := range []struct {
		own     string
		earlier []Entry
		want    string
	}{
		{"patient", []Entry{of(account.ReplaceOne, "patient"), of(account.AddOrRemove, "patient")}, "with 2 earlier fits of this table, " + relation},
		{"patient", []Entry{of(account.AddOrRemove, "")}, "with 1 earlier fit of this table, " + relation},
		{"patient", []Entry{of(account.ReplaceOne, "patient"), of(account.ReplaceOne, "")}, "with 2 earlier fits of this table, " + unit},
		{"", []Entry{of(account.ReplaceOne, "patient")}, "with 1 earlier fit of this table, " + unit},
		{"", []Entry{odd("")}, "with 1 earlier fit of this table: " + none},
		{"patient", []Entry{odd("patient")}, "with 1 earlier fit of this table: " + none},
	} {
		f := &Fitted{Fitted: &train.Fitted{Planned: train.Planned{Budget: b}, Entry: of(account.ReplaceOne, c.own)}, Earlier: c.earlier}
		f.Unit.Column = c.own
		if got := f.Together(t.Context()); got != c.want {
			t.Errorf("%q: must be %q", got, c.want)
		}
		d := &Described{Described: &train.Described{Budget: b, Entry: f.Entry}, Earlier: c.earlier}
		if got := d.Together(t.Context()); got != c.want {
			t.Errorf("of a description: %q: must be %q", got, c.want)
		}
	}
}
