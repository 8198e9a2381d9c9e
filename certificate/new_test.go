package certificate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// spentLedger returns the ledger of a session that has charged mu^2 = 10 in a hundred answers, far
// more than a budget of (.5, 1e-6) allows.
func spentLedger(t *testing.T, unit account.Unit) *account.Ledger {
	t.Helper()
	b, err := account.NewBudget(20, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	l, err := account.OpenLedger(b, account.Records{Count: 1000, Unit: unit})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		e, err := account.GaussianEvent("gradient", account.Everyone, 1, 3.1623)
		if err == nil {
			err = l.Reserve(e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if charged := l.Charged(); !(charged > 9.99 && charged < 10) {
		t.Fatalf("charged %v", charged)
	}
	return l
}

// TestACertificateIsOfItsSession: the certificate of a closed session must state the session's budget,
// records and events. A journal of the same session must be refused if it states a smaller budget, or if
// its events lose their relation, are assigned to cohorts, or are left out before others.
func TestACertificateIsOfItsSession(t *testing.T) {
	l := spentLedger(t, account.Unit{})
	p := Params{Software: "test", Algorithm: Algorithm{Name: "gd"}}
	if _, err := New(session{l}, p); !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), "must be closed") {
		t.Errorf("of an open session: %v", err)
	}
	if _, err := New(session{account.NewLedger(l.Budget())}, p); !errors.Is(err, ErrUnsound) ||
		!strings.Contains(err.Error(), "which records") {
		t.Errorf("of no session: %v", err)
	}
	l.End()
	c, err := New(session{l}, p)
	if err != nil {
		t.Fatal(err)
	}
	if c.Claim().Mu != l.Budget().Mu() || c.Charged() != l.Charged() || !slices.Equal(c.Events(), l.Events()) {
		t.Errorf("a session that charged %v has a certificate of %v", l.Charged(), c.Charged())
	}
	small, err := account.NewBudget(.5, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	for name, forge := range map[string]func(*account.Journal){
		"as it is": func(*account.Journal) {},
		"without relations": func(j *account.Journal) {
			for i := range j.Events {
				j.Events[i].Relation = 0
			}
		},
		"one without its relation":  func(j *account.Journal) { j.Events = j.Events[:1]; j.Events[0].Relation = 0 },
		"all but the last left out": func(j *account.Journal) { j.Events = j.Events[99:] },
		"every second left out": func(j *account.Journal) {
			j.Events = slices.DeleteFunc(j.Events, func(e account.Event) bool { return e.Index%2 == 1 })
		},
		"of cohorts": func(j *account.Journal) {
			for i := range j.Events {
				j.Events[i].Relation, j.Events[i].Cohort = account.AddOrRemove, uint64(i+1)
			}
		},
	} {
		j := l.View().Journal()
		j.Budget = small
		forge(&j)
		if c, err := FromJournal(j, p); !errors.Is(err, ErrUnsound) {
			t.Errorf("%s, mu^2 = 10 is certified as (.5, 1e-6): %v, %v", name, c, err)
		}
	}
}

// TestTheUnitIsTheLedgers: the certificate's records, unit and filter come from the session's
// ledger. [Params] has no field by which a caller could state others.
func TestTheUnitIsTheLedgers(t *testing.T) {
	for _, unit := range []account.Unit{{}, {Column: "person", Rows: 8, Count: account.Mean}} {
		l := spentLedger(t, unit)
		l.End()
		c, err := New(session{l}, Params{Software: "test", Algorithm: Algorithm{Name: "gd"}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Verify(t.Context())
		if err != nil || c.Unit() != account.Unit(unit) || c.Records() != 1000 || (r.Unit == nil) != (unit == account.Unit{}) {
			t.Errorf("a session over units %+v has a certificate of %+v: %v", unit, c.Unit(), err)
		}
		v, err := c.Ledger(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := v.Records(); got.Unit != unit || got.Count != 1000 || v.Charged() != l.Charged() || !v.Ended() {
			t.Errorf("the certificate's ledger has %+v, charged %v", got, v.Charged())
		}
	}
}

// TestAnEventStatesItsRelation: a file is refused if an event lacks its relation or states a relation that
// is not the claim's, also if the checksum was recomputed.
func TestAnEventStatesItsRelation(t *testing.T) {
	for name, change := range map[string]func(*node){
		"missing": func(e *node) { e.remove("relation") },
		"empty":   func(e *node) { e.set("relation", `""`) },
		"null":    func(e *node) { e.set("relation", "null") },
		"unknown": func(e *node) { e.set("relation", `"relation(0)"`) },
		"other":   func(e *node) { e.set("relation", `"add-or-remove"`) },
	} {
		root := parseNode(t, mustNew(t, params(t)).text)
		change(root.get("events").items[2])
		if _, err := verdict(root.sealed(t)); err == nil || !strings.Contains(err.Error(), "relation") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLedgerVerifies tests that Ledger returns an error for a certificate that does not verify, so
// that a store of budgets accepts no run's charge from it.
func TestLedgerVerifies(t *testing.T) {
	p := params(t)
	p.Coins, p.Events = Simulated, events(t, true)
	altered := *mustNew(t, params(t))
	altered.checksum = "sha256:" + someDigest
	for name, c := range map[string]*Certificate{"of simulated coins": mustNew(t, p), "altered": &altered,
		"of nothing": {}} {
		if v, err := c.Ledger(t.Context()); err == nil {
			t.Errorf("a certificate %s has a ledger with %v charged", name, v.Charged())
		}
	}
}

// TestEarlierFilesAreRead: certificates from before ledgers stated their records must verify. The command
// of commit 54456b8 wrote them, for fits of 300 generated rows: gd with units of three rows, and dp-sgd
// with rows as records.
func TestEarlierFilesAreRead(t *testing.T) {
	for name, want := range map[string]account.Records{
		"units.json": {
			Count: 100, Unit: account.Unit{Column: "person", Rows: 3, Count: account.Mean},
			Filter: account.Filter{Column: "split", Value: "train"},
		},
		"schedule.json": {Count: 300, Filter: account.Filter{Column: "split", Value: "train"}},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Verify(t.Context())
		if err != nil || r.Epsilon != 1 || r.Events != 3 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		v, err := c.Ledger(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := v.Records(); got != want || v.Len() != 3 || v.Charged() != c.Charged() {
			t.Errorf("%s: a ledger of %+v: must be of %+v", name, got, want)
		}
		// A certificate made again from the ledger must be the same file.
		again, err := New(ended{v}, Params{
			Software: c.Software(), Algorithm: c.Algorithm(), Complete: c.Complete(), Trusted: c.Trusted(),
			ModelSHA256: c.ModelSHA256(), Reservation: c.doc.Budget,
		})
		if err != nil || string(again.text) != string(text) {
			t.Errorf("%s: written again it differs: %v\n%s", name, err, again.text)
		}
	}
}

// ended is a session with the ledger of a certificate.
type ended struct{ account.View }

func (e ended) Ledger() account.View { return e.View }
