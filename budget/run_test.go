package budget_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// registered makes a store with a dataset whose cap is epsilon 1. If unit is not empty, it is the dataset's
// privacy unit.
func registered(t *testing.T, unit string) *budget.Book {
	t.Helper()
	book, err := stores.Make(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "budgets.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { book.Close() })
	limit, err := budget.NewCap(1, 1e-6, account.ReplaceOne, 0)
	limit.Unit = unit
	if err == nil {
		err = book.Create(t.Context(), "people", limit)
	}
	if err != nil {
		t.Fatal(err)
	}
	return book
}

func spent(t *testing.T, b *budget.Book) *budget.Dataset {
	t.Helper()
	d, err := b.Dataset(t.Context(), "people")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// session opens a session over rows of an age, an answer and a person's number. unit names the
// column of the privacy unit. If it is empty, each row is a record.
func session(t *testing.T, unit string, reserve func(context.Context, account.View) error) *curator.Session {
	t.Helper()
	d := dataset.Definition{
		Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, Low: 0, High: 100}},
		Target:  dataset.Target{Column: "ill", Kind: dataset.Category, Classes: []string{"no", "yes"}},
	}
	cells := []curator.Column[int]{
		curator.Number("age", func(i int) float64 { return float64(i % 100) }),
		curator.Text("ill", func(i int) string { return []string{"no", "yes"}[i%2] }),
	}
	l := loss.Loss(loss.Logistic())
	if unit != "" {
		var err error
		if l, err = loss.NewUnits(l, 4, false); err != nil {
			t.Fatal(err)
		}
		d.Unit = dataset.Unit{Column: unit, Rows: 4}
		cells = append(cells, curator.Number(unit, func(i int) float64 { return float64(i / 3) }))
	}
	schema, err := dataset.New(d)
	if err != nil {
		t.Fatal(err)
	}
	// The session's epsilon, .6, is less than the cap's, and its mu^2 is less than half of the
	// cap's.
	b, err := account.NewBudget(.6, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int, 300)
	for i := range rows {
		rows[i] = i
	}
	s, err := curator.Open(t.Context(), curator.Config{
		Rows: curator.RowsOf(rows, cells...), Schema: schema, Loss: l, Budget: b, Reserve: reserve,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// ask releases a gradient at a share of the session's budget.
func ask(s *curator.Session, share float64) error {
	q, err := query.New(s.Ledger().Budget().Charge()*share, query.GradientAt(s.All(), make([]float64, 2), 1))
	if err != nil {
		return err
	}
	_, err = s.Ask(context.Background(), q)
	return err
}

// TestARunIsOneSessions opens twenty sessions with the same Run, as a service might that makes one Run when
// it starts. The first session must get answers, and the others must be refused before anything is computed
// for them. The store must be charged for the releases, and no other session may free the charge.
func TestARunIsOneSessions(t *testing.T) {
	ctx := t.Context()
	book := registered(t, "")
	run := book.Run("people", "")
	var sessions []*curator.Session
	released := 0.0
	for i := range 20 {
		s := session(t, "", run.Reserve)
		sessions = append(sessions, s)
		err := ask(s, .9)
		if (err == nil) != (i == 0) || i > 0 && !strings.Contains(err.Error(), "belongs to the session that") {
			t.Errorf("session %d: %v", i, err)
		}
		if i > 0 && s.Ledger().Len() > 0 {
			t.Errorf("session %d: refused, and charged", i)
		}
		released += s.Ledger().Charged()
	}
	reserved := sessions[0].Ledger().Budget().Charge()
	if d := spent(t, book); d.Spent != reserved || len(d.Runs) != 1 || !(released <= d.Spent) {
		t.Errorf("%v was released, and the store says %v of %d runs", released, d.Spent, len(d.Runs))
	}
	if _, err := run.Would(ctx, sessions[1].Ledger()); err == nil {
		t.Error("a run would serve a second session")
	}
	for name, s := range map[string]*curator.Session{"refused": sessions[1], "fresh": session(t, "", nil)} {
		if err := run.Settle(ctx, s); err == nil || s.Ledger().Ended() {
			t.Errorf("settled by a session that was %s: %v", name, err)
		}
	}
	if d := spent(t, book); d.Spent != reserved {
		t.Fatalf("the store has %v back", reserved-d.Spent)
	}
	if err := run.Settle(ctx, sessions[0]); err != nil {
		t.Fatal(err)
	}
	if d := spent(t, book); d.Spent != released || !d.Runs[0].Settled {
		t.Errorf("%v was released, and the store says %v", released, d.Spent)
	}
	// A run that has settled serves no other session.
	if ask(session(t, "", run.Reserve), .9) == nil {
		t.Error("a run that has settled serves another session")
	}
}

// TestSessionsRaceForARun tests that, of several sessions that reserve at the same time with one
// Run, exactly one gets the reservation.
func TestSessionsRaceForARun(t *testing.T) {
	for range 8 {
		book := registered(t, "")
		run := book.Run("people", "")
		const racers = 6
		var sessions [racers]*curator.Session
		for i := range sessions {
			sessions[i] = session(t, "", run.Reserve)
		}
		var errs [racers]error
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i, s := range sessions {
			wg.Go(func() {
				<-start
				errs[i] = ask(s, .9)
			})
		}
		close(start)
		wg.Wait()
		answered := 0
		for i, err := range errs {
			if err == nil {
				answered++
			} else if sessions[i].Ledger().Len() > 0 {
				t.Errorf("refused, and charged: %v", err)
			}
		}
		if d := spent(t, book); answered != 1 || len(d.Runs) != 1 {
			t.Fatalf("%d sessions were answered by one run, the store has %d", answered, len(d.Runs))
		}
	}
}

// open is a session whose Close does nothing, so that its ledger can still be charged.
type open struct{ *curator.Session }

func (open) Close() error { return nil }

// TestWhatMayStillAskSettlesNothing tests that no run is settled by a ledger that has not ended:
// such a ledger could still be charged afterwards.
func TestWhatMayStillAskSettlesNothing(t *testing.T) {
	book := registered(t, "")
	run := book.Run("people", "")
	s := session(t, "", run.Reserve)
	if err := ask(s, .1); err != nil {
		t.Fatal(err)
	}
	if err := run.Settle(t.Context(), open{s}); err == nil || !strings.Contains(err.Error(), "must have ended") {
		t.Errorf("settled by a session that goes on: %v", err)
	}
	if d := spent(t, book); d.Runs[0].Settled {
		t.Error("the store has it settled")
	}
	// A ledger that no session opened is refused.
	none := account.NewLedger(s.Ledger().Budget()).View()
	if err := book.Run("people", "").Reserve(t.Context(), none); err == nil ||
		!strings.Contains(err.Error(), "of a session") {
		t.Errorf("a ledger of no records reserves: %v", err)
	}
}

// TestTheUnitIsThatOfTheRows tests that the privacy unit of a run is the unit with which the
// session's rows were opened.
func TestTheUnitIsThatOfTheRows(t *testing.T) {
	for _, dataset := range []string{"", "person"} {
		for _, rows := range []string{"", "person", "ward"} {
			book := registered(t, dataset)
			s := session(t, rows, book.Run("people", "").Reserve)
			err := ask(s, .5)
			if same := dataset == rows; (err == nil) != same || !same && !strings.Contains(err.Error(), "unit = ") {
				t.Errorf("a session over units of %q under a cap for units of %q: %v", rows, dataset, err)
			}
			if err != nil && s.Ledger().Len() > 0 {
				t.Error("refused, and charged")
			}
			if d := spent(t, book); err == nil && (len(d.Runs) != 1 || d.Runs[0].Limit.Unit != rows) {
				t.Errorf("the store has %+v", d.Runs)
			}
		}
	}
}

// ended is a session with a given ledger, for tests of settling.
type ended struct{ account.View }

func (e ended) Ledger() account.View { return e.View }

// certified makes the certificate of a run. forge may change the journal it is made from.
func certified(
	t *testing.T, v account.View, receipt *account.Reservation, forge func(*account.Journal),
) *certificate.Certificate {
	t.Helper()
	p := certificate.Params{Software: "test", Reservation: receipt, Algorithm: certificate.Algorithm{Name: "gd"}}
	c, err := certificate.New(ended{v}, p)
	if forge != nil {
		j := v.Journal()
		forge(&j)
		c, err = certificate.FromJournal(j, p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestSettledByACertificate tests how a run is settled whose session is gone: its certificate must
// free the unused budget. The certificate of another run, of other records or of no reservation
// must free nothing.
func TestSettledByACertificate(t *testing.T) {
	ctx := t.Context()
	book := registered(t, "")
	one, two := book.Run("people", ""), book.Run("people", "")
	s, other := session(t, "", one.Reserve), session(t, "", two.Reserve)
	for _, s := range []*curator.Session{s, other} {
		if err := ask(s, .25); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	own, _ := one.Receipt()
	foreign, _ := two.Receipt()
	mixed := own
	mixed.Head = foreign.Head
	before := spent(t, book)
	forged := func(r account.Reservation, forge func(*account.Journal)) *certificate.Certificate {
		return certified(t, s.Ledger(), &r, forge)
	}
	person := account.Unit{Column: "person", Rows: 4, Count: account.Mean}
	for name, c := range map[string]*certificate.Certificate{
		"of no reservation":  certified(t, s.Ledger(), nil, nil),
		"of another row":     forged(mixed, nil),
		"of a run unknown":   forged(account.Reservation{Dataset: "people", Run: "x", Row: 2, Head: own.Head}, nil),
		"of people":          forged(own, func(j *account.Journal) { j.Records.Unit = person }),
		"of simulated coins": forged(own, simulated),
		"of another budget":  forged(own, func(j *account.Journal) { j.Budget = larger(t, account.ReplaceOne) }),
		"of other neighbours": forged(own, func(j *account.Journal) {
			j.Budget, j.Events = larger(t, account.AddOrRemove), nil
		}),
		"that claims nothing": new(certificate.Certificate),
		"of an absent dataset": forged(account.Reservation{Dataset: "nobody", Run: own.Run, Row: own.Row, Head: own.Head},
			nil),
	} {
		if err := book.Settle(ctx, c); err == nil {
			t.Errorf("settled by a certificate %s", name)
		}
		if err := before.Holds(ctx, c); err == nil {
			t.Errorf("a chain has the run of a certificate %s", name)
		}
	}
	if d := spent(t, book); d.Head != before.Head {
		t.Fatal("the store has changed")
	}
	c := certified(t, s.Ledger(), &own, nil)
	for range 2 {
		if err := book.Settle(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := before.Holds(ctx, c); err != nil {
		t.Error(err)
	}
	want := s.Ledger().Charged() + other.Ledger().Budget().Charge()
	if d := spent(t, book); !d.Runs[0].Settled || d.Runs[1].Settled || !(math.Abs(d.Spent/want-1) <= 1e-15) {
		t.Errorf("spent %v: must be %v", d.Spent, want)
	}
	head := spent(t, book).Head
	err := book.Settle(ctx, certified(t, s.Ledger(), &own, func(j *account.Journal) { j.Events = nil }))
	if d := spent(t, book); err != nil || d.Head != head {
		t.Errorf("settled again at less: %v, row %d", err, d.Rows)
	}
}

// simulated marks a journal and its events as those of a run with simulated random bits.
func simulated(j *account.Journal) {
	j.Records.Simulated = true
	for i := range j.Events {
		j.Events[i].Simulated = true
	}
}

func larger(t *testing.T, r account.Relation) account.Budget {
	t.Helper()
	b, err := account.NewBudget(2, 1e-6, r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
