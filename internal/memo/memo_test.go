package memo

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestMemoFindsOnce tests that a result is found once, that an error is not kept, that no more than Most results are
// kept, and that askers at the same time get their own results.
func TestMemoFindsOnce(t *testing.T) {
	var m Memo[int, int]
	var found atomic.Int64
	refusal := errors.New("refused")
	ask := func(q int, err error) (int, error) {
		return m.Of(q, func() (int, error) {
			found.Add(1)
			return -q, err
		})
	}
	expect := func(what string, want int64) {
		t.Helper()
		if n := found.Swap(0); n != want {
			t.Errorf("%s: found %d times, want %d", what, n, want)
		}
	}
	answered := func(list ...int) {
		t.Helper()
		for _, q := range list {
			if a, err := ask(q, nil); err != nil || a != -q {
				t.Errorf("result of %d: %d, %v", q, a, err)
			}
		}
	}
	if _, err := ask(1, refusal); !errors.Is(err, refusal) {
		t.Errorf("error %v, want %v", err, refusal)
	}
	answered(1, 1, 1)
	expect("an error, then the same three times", 2)
	for q := 2; q <= Most; q++ {
		answered(q)
	}
	answered(1, 2, Most)
	expect("as many as are kept, and three of them again", Most-1)
	answered(Most+1, Most+1, 1)
	expect("one more, twice, and one that is forgotten", 2)
	for q := range 3 * Most {
		if answered(q); len(m.results) > Most {
			t.Fatalf("%d results are kept", len(m.results))
		}
	}
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 2 * Most {
				answered(worker * i)
			}
		})
	}
	all.Wait()
}
