package session

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestDrawsThatAreRefused tests which cohorts a session draws after which: by a number or by coins, and never by both, since a
// record could then be in two cohorts; at most the records that are left; and none of a closed session.
func TestDrawsThatAreRefused(t *testing.T) {
	number := func(n int) func(*Session) (query.Cohort, error) {
		return func(s *Session) (query.Cohort, error) { return s.Draw(n) }
	}
	coins := func(p float64) func(*Session) (query.Cohort, error) {
		return func(s *Session) (query.Cohort, error) { return s.DrawEach(p) }
	}
	closes := func(s *Session) (query.Cohort, error) { return query.Cohort{}, s.Close() }
	type draws []func(*Session) (query.Cohort, error)
	for _, c := range []struct {
		list draws
		want string  // the error of the last draw
		size float64 // of the last cohort
	}{
		{draws{number(3)}, "", 3}, {draws{number(3), number(4)}, "", 4}, {draws{number(7)}, "", 7},
		{draws{number(0)}, "curator: draw of 0 records: must be between 1 and the 7 not yet drawn", 0},
		{draws{number(-1)}, "curator: draw of -1 records: must be between 1 and the 7 not yet drawn", 0},
		{draws{number(8)}, "curator: draw of 8 records: must be between 1 and the 7 not yet drawn", 0},
		{draws{number(3), number(5)}, "curator: draw of 5 records: must be between 1 and the 4 not yet drawn", 0},
		{draws{number(7), number(1)}, "curator: draw of 1 records: must be between 1 and the 0 not yet drawn", 0},
		{draws{coins(.5)}, "", 3.5}, {draws{coins(.5), coins(.5)}, "", 1.75}, {draws{coins(1)}, "", 7},
		{draws{coins(1), coins(.5)}, "curator: draw each with probability 0.5: every record is in a cohort already", 0},
		{draws{coins(0)}, "curator: draw each: probability = 0: must be > 0 and <= 1", 0},
		{draws{coins(-.5)}, "curator: draw each: probability = -0.5: must be > 0 and <= 1", 0},
		{draws{coins(math.Nextafter(1, 2))}, "curator: draw each: probability = 1.0000000000000002: must be > 0 and <= 1", 0},
		{draws{coins(math.NaN())}, "curator: draw each: probability = NaN: must be > 0 and <= 1", 0},
		{draws{coins(.5), number(1)}, "curator: draw of 1 records: this session has drawn by coins already", 0},
		{draws{coins(1e-12), number(1)}, "curator: draw of 1 records: this session has drawn by coins already", 0},
		{draws{coins(.5), coins(.5), number(1)}, "curator: draw of 1 records: this session has drawn by coins already", 0},
		{draws{number(1), coins(.5)}, "curator: draw each with probability 0.5: this session has drawn by number already", 0},
		{draws{number(1), number(2), coins(.5)}, "curator: draw each with probability 0.5: this session has drawn by number already", 0},
		{draws{number(1), coins(.5), number(2)}, "", 2}, {draws{coins(.5), number(1), coins(.5)}, "", 1.75}, // what was refused changes nothing
		{draws{number(8), coins(.5)}, "", 3.5}, {draws{coins(0), number(2)}, "", 2},
		{draws{closes, number(1)}, ErrClosed.Error(), 0}, {draws{closes, coins(.5)}, ErrClosed.Error(), 0},
	} {
		s := open(t, randomRecords(rand.New(rand.NewPCG(7, 7)), 7, 3), parse(t, "logistic"), budget(t, 1, 1e-6, account.ReplaceOne), nil)
		drawn, last := map[int32]bool{}, query.Cohort{}
		for i, draw := range c.list {
			cohort, err := draw(s)
			if said := fmt.Sprint(err); i == len(c.list)-1 && (err == nil) != (c.want == "") || i == len(c.list)-1 && err != nil && said != c.want {
				t.Errorf("%d draws: %v: must be %q", len(c.list), err, c.want)
			}
			if last = cohort; err != nil || cohort.ID() == account.Everyone {
				continue
			}
			rows, err := s.rowsOf(cohort)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if drawn[r] {
					t.Errorf("%d draws: record %d is in two cohorts", len(c.list), r)
				}
				drawn[r] = true
			}
		}
		if c.want == "" && last.Size() != c.size {
			t.Errorf("%d draws: a cohort of %v: must be %v", len(c.list), last.Size(), c.size)
		}
	}
	other := open(t, randomRecords(rand.New(rand.NewPCG(7, 7)), 7, 3), parse(t, "logistic"), budget(t, 1, 1e-6, account.AddOrRemove), nil)
	if _, err := other.Draw(1); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("a number of a table whose number is secret: %v", err)
	}
}
