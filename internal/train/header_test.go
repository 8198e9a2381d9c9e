package train

import (
	"context"
	"errors"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestJournalAndSessionSayTheSame tests that the method tells accepts a head (the facts known before the
// first release) that states the same records and relation as the session's ledger, and refuses every
// difference. Otherwise files that are recovered from the journal could differ from the files of the fit.
func TestJournalAndSessionSayTheSame(t *testing.T) {
	c := config(t, 300)
	p, err := c.prepare(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	h, err := c.head("test", 1, p.planned, p.loss, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.tells(p.session.Ledger()); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Header){
		"records":  func(h *Header) { h.Records++ },
		"relation": func(h *Header) { h.Relation = account.AddOrRemove },
	} {
		other := h
		change(&other)
		if other.tells(p.session.Ledger()) == nil {
			t.Errorf("a head with other %s is taken for the session's", name)
		}
	}
	for name, r := range map[string]account.Records{
		"unit":   {Count: h.Records, Unit: account.Unit{Column: "person", Rows: 3, Count: account.Mean}},
		"filter": {Count: h.Records, Filter: account.Filter{Column: "split", Value: "train"}},
		"coins":  {Count: h.Records, Simulated: true},
	} {
		l, err := account.OpenLedger(p.budget, r)
		if err != nil {
			t.Fatal(err)
		}
		if h.tells(l.View()) == nil {
			t.Errorf("a ledger with another %s is taken for that of the head", name)
		}
	}
	if h.tells(account.NewLedger(p.budget).View()) == nil {
		t.Error("a ledger of no records is taken for a session's")
	}
}

// TestAnswerWithheld tests that an answer is withheld if the event of its charge cannot be written
// to the log, and that all later answers are withheld as well.
func TestAnswerWithheld(t *testing.T) {
	full := errors.New("full")
	r := &recorder{log: unstored{}}
	r.failed = r.fail(full)
	for range 2 {
		a, err := answer(t.Context(), r, query.Release{Mean: []float64{1}, Charge: 1}, nil)
		if a.Mean != nil || a.Charge != 0 || !errors.Is(err, full) {
			t.Errorf("answered %+v, %v", a, err)
		}
	}
}
