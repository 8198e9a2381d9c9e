package budget_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
)

// memory is a store in memory, for the book's own rules. Its transactions wait for each other.
type memory struct {
	mu     sync.Mutex
	rows   map[string][]budget.Row
	leases map[string]map[string]budget.Lease // by dataset and run
	marks  map[string]string
	drawn  int
}

func newMemory() *memory {
	return &memory{rows: map[string][]budget.Row{}, leases: map[string]map[string]budget.Lease{}, marks: map[string]string{}}
}

func (m *memory) tail(name string, from int) budget.Tail {
	rows := m.rows[name]
	t := budget.Tail{Rows: rows[min(from, len(rows)):], Length: len(rows), Now: time.Now().UTC().Format(time.RFC3339)}
	if len(rows) > 0 {
		t.Head = rows[len(rows)-1].Hash
	}
	if from > 0 && from <= len(rows) {
		t.Before = rows[from-1].Hash
	}
	for _, l := range m.leases[name] {
		if !l.Ended {
			t.Leases = append(t.Leases, l)
		}
	}
	return t
}

func (m *memory) View(_ context.Context, name string, from int) (budget.Tail, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tail(name, from), nil
}

func (m *memory) Update(ctx context.Context, name string, from int, next func(budget.Tail) (*budget.Row, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t := m.tail(name, from)
	row, err := next(t)
	if err != nil || row == nil {
		return err
	}
	m.rows[name] = append(m.rows[name], budget.Row{Text: row.Text, Hash: row.Hash})
	if l := row.Lease; l != nil {
		m.keep(name, *l, t.Now)
	}
	return nil
}

func (m *memory) keep(name string, l budget.Lease, now string) {
	if l.Renewed = now; m.leases[name] == nil {
		m.leases[name] = map[string]budget.Lease{}
	}
	m.leases[name][l.Run] = l
}

func (m *memory) Renew(_ context.Context, name string, before, after budget.Lease) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.leases[name][before.Run]
	is := func(of budget.Lease) bool { return l.Events == of.Events && l.Charge == of.Charge }
	if !ok || l.Ended || l.Holder != before.Holder || !is(before) && !is(after) {
		return false, nil
	}
	m.keep(name, after, m.tail(name, 0).Now)
	return true, nil
}

func (m *memory) Datasets(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.rows)), nil
}

func (m *memory) Draw(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drawn++
	return fmt.Sprintf("%032x", m.drawn), nil
}

func (m *memory) Key(context.Context) (string, error) { return strings.Repeat("5e", 32), nil }

func (m *memory) Mark(_ context.Context, name, mark string) (others []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marks[name] = mark
	for of, its := range m.marks {
		if of != name && its == mark {
			others = append(others, of)
		}
	}
	return slices.Sorted(slices.Values(others)), nil
}

func (m *memory) Close() error { return nil }

// TestBooksPassTheSuiteOfStores tests the rules of books by the suite of stores, in memory: what is reserved, settled,
// withdrawn and leased, also by several processes at once.
func TestBooksPassTheSuiteOfStores(t *testing.T) {
	budgettest.Run(t, func(*testing.T) func() budget.Store {
		m := newMemory()
		return func() budget.Store { return m }
	})
}

// TestReservationsDoNotSlowDown compares the memory that a hundred reservations allocate after few
// runs and after three thousand. A book that copied its runs at each reservation would allocate
// thirty times as much.
func TestReservationsDoNotSlowDown(t *testing.T) {
	book := budget.NewBook(newMemory())
	most, err := budget.NewCap(8, 1e-6, account.ReplaceOne, 0)
	if err == nil {
		err = book.Create(t.Context(), "people", most)
	}
	if err != nil {
		t.Fatal(err)
	}
	session := budgettest.NewSession(t, 1e-4)
	limit, err := budget.LimitOf(session.Ledger())
	if err != nil {
		t.Fatal(err)
	}
	hundred := func() uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			if _, err := book.Covers(t.Context(), "people", limit); err != nil {
				t.Fatal(err)
			}
			if err := book.Run("people", "").Reserve(t.Context(), session.Ledger()); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few := hundred()
	for range 28 {
		hundred()
	}
	if many := hundred(); many > 4*few {
		t.Errorf("100 reservations after 100 and 2,900 runs allocate %d and %d bytes: must stay within 4 times", few, many)
	}
}
