package budget

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// silent is a store that fails, and counts how often it was asked.
type silent struct {
	Store
	asked int
	ends  func() // ends the context of the first call, if it is set
}

func (s *silent) Update(context.Context, string, int, func(Tail) (*Row, error)) error {
	if s.asked++; s.ends != nil {
		s.ends()
	}
	return errors.New("out of reach")
}

// TestAFailingStoreIsAskedThreeTimes tests how often a transaction is tried: three times, or until its context has ended.
func TestAFailingStoreIsAskedThreeTimes(t *testing.T) {
	for want := range map[int]bool{3: true, 1: true} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &silent{}
		if want == 1 {
			s.ends = cancel
		}
		if err := NewBook(s).Shut(ctx, "people"); !errors.Is(err, ErrStore) || s.asked != want {
			t.Errorf("asked %d times, %v: must be %d", s.asked, err, want)
		}
		cancel()
	}
}

// TestPartsOfDelta tests to the bit which part of a cap's delta each run that samples may use, and which part the others.
// Both are below their shares of a tenth and nine tenths, so that their sum is not above delta when it is rounded.
func TestPartsOfDelta(t *testing.T) {
	for _, runs := range []int{0, 1, 3, 1000, 1 << 20} {
		c, err := NewCap(1, 1e-6, account.ReplaceOne, runs)
		if err != nil {
			t.Fatal(err)
		}
		gaussian, each := 1e-6, 0.
		if runs > 0 {
			gaussian, each = 1e-6*.9*(1-0x1p-50), 1e-6*.1/float64(runs)*(1-0x1p-50)
		}
		if !(math.Abs(c.gaussianDelta()/gaussian-1) <= 0x1p-52) || c.sampledDelta() != each || each > 0 && c.gaussianDelta()+float64(runs)*each > 1e-6 {
			t.Errorf("%d runs that may sample: %v and %v: must be %v and %v", runs, c.gaussianDelta(), c.sampledDelta(), gaussian, each)
		}
	}
	for _, runs := range []int{-1, 1<<20 + 1} {
		if _, err := NewCap(1, 1e-6, account.ReplaceOne, runs); err == nil || !strings.Contains(err.Error(), "must be between 0 and 1048576") {
			t.Errorf("%d runs that may sample: %v", runs, err)
		}
	}
}

// TestHashesByHand tests the hash of a first and of a later row, which stores and certificates of earlier versions have.
func TestHashesByHand(t *testing.T) {
	of := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	first := chained("", "row")
	if want := of("stillpoint budget 1\nrow"); first != want {
		t.Errorf("%s: must be %s", first, want)
	}
	if got, want := chained(first, "row"), of(first+"\nrow"); got != want {
		t.Errorf("%s: must be %s", got, want)
	}
	if MostCertificate != 512<<20 {
		t.Errorf("a certificate has at most %d bytes", MostCertificate)
	}
}

// TestFactorsOfRelations tests by which factor the charge of a run counts in a dataset, for each pair of relations.
func TestFactorsOfRelations(t *testing.T) {
	for _, c := range []struct {
		run, dataset account.Relation
		want         float64 // 0: refused
	}{{account.ReplaceOne, account.ReplaceOne, 1}, {account.AddOrRemove, account.AddOrRemove, 1}, {account.AddOrRemove, account.ReplaceOne, 4},
		{account.ReplaceOne, account.AddOrRemove, 0}} {
		if got, err := factor(c.run, c.dataset); got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%v in %v: %v, %v: must be %v", c.run, c.dataset, got, err, c.want)
		}
	}
}

// TestNamesAtTheirLimits tests which names of datasets and units, and which labels, are taken.
func TestNamesAtTheirLimits(t *testing.T) {
	for name, want := range map[string]bool{"": false, "a": true, " a": false, "a ": false, "a\t": false, "\ta": false, "a b": true, "né": true,
		strings.Repeat("x", 200): true, strings.Repeat("x", 201): false, strings.Repeat("é", 100): true, strings.Repeat("é", 101): false,
		"a\x00b": false, "a\nb": false, "a\u200bb": false, "a\ufffdb": false, "a\xffb": false, "a\u00a0b": false} {
		if err := checkName("name", name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestRoundedToTheLastBit tests that sums of charges are rounded up or down to the next float64, and that neither moves one
// that is exact. Nothing is below 0.
func TestRoundedToTheLastBit(t *testing.T) {
	for _, x := range []float64{0, 1, .1, 1e-300, math.MaxFloat64, 0x1p-1074} {
		if up, down := upward(exact(x)), downward(exact(x)); up != x || down != x {
			t.Errorf("%v: %v and %v", x, up, down)
		}
	}
	sum := exact(1)
	sum.Add(sum, exact(0x1p-200))
	if up, down := upward(sum), downward(sum); up != 1+0x1p-52 || down != 1 {
		t.Errorf("just above 1: %v and %v", up, down)
	}
	less := exact(1)
	less.Sub(less, exact(0x1p-200))
	if up, down := upward(less), downward(less); up != 1 || down != 1-0x1p-53 {
		t.Errorf("just below 1: %v and %v", up, down)
	}
	negative := exact(0)
	negative.Sub(negative, exact(1))
	if down := downward(negative); down != 0 {
		t.Errorf("below 0: %v", down)
	}
}

// nameless is a store that has no names.
type nameless struct{ Store }

func (nameless) Datasets(context.Context) ([]string, error) { return nil, errors.New("out of reach") }

// TestRunsBeforeTheirReservation tests what a run and a book say before a store has answered.
func TestRunsBeforeTheirReservation(t *testing.T) {
	for _, held := range []bool{false, true} {
		r := NewBook(&silent{}).Run("people", "")
		if held {
			r.Hold()
		}
		if got, ok := r.Receipt(); ok || got != (account.Reservation{}) {
			t.Errorf("held %v: %+v", held, got)
		}
	}
	if _, err := NewBook(nameless{}).Names(t.Context()); !errors.Is(err, ErrStore) {
		t.Errorf("%v: must be %v", err, ErrStore)
	}
}

// TestEveryRowHasItsHash tests which rows a dataset has, by number and hash.
func TestEveryRowHasItsHash(t *testing.T) {
	c := newChain("people")
	limit := newCap(t, account.ReplaceOne, 0)
	c.apply(entry{Number: 1, Kind: kindCreated, Cap: &limit}, "one")
	c.apply(entry{Number: 2, Kind: kindClosed}, "two")
	d, err := c.dataset()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		row  int
		head string
		want bool
	}{{1, "one", true}, {2, "two", true}, {1, "two", false}, {2, "one", false}, {0, "", false}, {3, "", false}, {1, "", false}} {
		if err := d.Has(account.Reservation{Dataset: "people", Row: x.row, Head: x.head}); (err == nil) != x.want {
			t.Errorf("row %d, %q: %v", x.row, x.head, err)
		}
	}
	if err := d.Has(account.Reservation{Dataset: "others", Row: 1, Head: "one"}); err == nil {
		t.Error("a row of another dataset")
	}
}
