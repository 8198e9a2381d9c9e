package certificate

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

const someDigest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// events returns events that charge 5/64 to everyone and up to 3/64 to a cohort. These numbers
// are exact in binary.
func events(t testing.TB, simulated bool) []account.Event {
	t.Helper()
	var list []account.Event
	for _, e := range []struct {
		question           string
		cohort             uint64
		sensitivity, sigma float64
	}{
		{"gradient", account.Everyone, 2, 8},
		{"difference", 1, 0.5, 4},
		{"difference", 2, 0.25, 2},
		{"difference", 1, 0.5, 4},
		{"value", account.Everyone, 1, 8},
	} {
		event, err := account.GaussianEvent(e.question, e.cohort, e.sensitivity, e.sigma)
		if err != nil {
			t.Fatal(err)
		}
		event.Index, event.Simulated, event.Relation = len(list), simulated, account.ReplaceOne
		list = append(list, event)
	}
	return list
}

// stated is everything from which a certificate is made: the contents of a run's journal, and
// the Params.
type stated struct {
	Params
	Budget   account.Budget
	Records  int64
	Filter   account.Filter
	Unit     account.Unit
	Coins    Coins
	Schedule *account.Schedule
	Events   []account.Event
}

func (s stated) journal() account.Journal {
	return account.Journal{
		Budget: s.Budget, Schedule: s.Schedule, Events: s.Events,
		Records: account.Records{
			Count: s.Records, Filter: s.Filter, Unit: s.Unit, Simulated: s.Coins == Simulated,
		},
	}
}

func (s stated) certificate() (*Certificate, error) { return FromJournal(s.journal(), s.Params) }

func params(t testing.TB) stated {
	t.Helper()
	budget, err := account.NewBudget(2, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	return stated{
		Params: Params{
			Software: "stillpoint v1.2.3",
			Algorithm: Algorithm{"spiderboost",
				json.RawMessage(`{"T":40,"q":[1,2],"eta":0.125,"tail":true,"note":"a<b","none":null}`)},
			Complete:    true,
			Trusted:     []string{"smoothness of the loss", "the clock"},
			ModelSHA256: someDigest,
		},
		Budget:  budget,
		Records: 32561,
		Coins:   Secret,
		Events:  events(t, false),
	}
}

func mustNew(t testing.TB, p stated) *Certificate {
	t.Helper()
	c, err := p.certificate()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// verdict reads and verifies the bytes of a certificate's file.
func verdict(data []byte) (*Report, error) {
	c, err := Parse(data)
	if err != nil {
		return nil, err
	}
	return c.Verify(context.Background())
}

// kindOf returns the one of the package's error values (ErrMalformed and so on) that an error
// wraps; every failure must wrap exactly one.
func kindOf(t testing.TB, err error) error {
	t.Helper()
	var kinds []error
	for _, kind := range []error{ErrMalformed, ErrAltered, ErrUnsound, ErrModel} {
		if errors.Is(err, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) != 1 {
		t.Fatalf("error %v is of %d kinds", err, len(kinds))
	}
	return kinds[0]
}

// some returns every fifth element of a list in short mode, and otherwise the list.
func some[T any](list []T) []T {
	if !testing.Short() {
		return list
	}
	var part []T
	for i := 0; i < len(list); i += 5 {
		part = append(part, list[i])
	}
	return part
}

// session is a Session with a given ledger.
type session struct{ own *account.Ledger }

func (s session) Ledger() account.View { return s.own.View() }
