package runfolder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// chains is a store of budgets in memory. For each row it remembers how many operations the disk of
// the output folder had done when the row was committed.
type chains struct {
	disk *durabletest.Disk

	mu    sync.Mutex
	drawn int
	rows  []commit
	// leases are all states of leases that were committed, with rows or alone.
	leases []leased
	// elapsed is the time since storeTime by the store's clock.
	elapsed time.Duration
	// fail, if not nil, is called before each transaction and again after the transaction is
	// committed. If it returns an error, the transaction returns that error.
	fail func(committed bool) error
}

type commit struct {
	dataset string
	row     budget.Row
	ops     int
}

// leased is a state of a lease. rows is the number of rows that the store had when it was committed.
type leased struct {
	dataset   string
	lease     budget.Lease
	ops, rows int
	withRow   bool
}

// before is the number of disk operations that is stored for a row that was committed before the disk's first
// operation.
const before = -1

var _ budget.Store = (*chains)(nil)

// at returns the store as it was after the given number of commits, for another disk d.
func (c *chains) at(commits int, d *durabletest.Disk) *chains {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := &chains{disk: d, drawn: c.drawn, rows: slices.Clone(c.rows[:commits])}
	for i := range left.rows {
		left.rows[i].ops = before
	}
	for _, l := range c.leases {
		if l.rows <= commits {
			l.ops = before
			left.leases = append(left.leases, l)
		}
	}
	return left
}

// until returns the store without the states of leases that were committed after the disk had done the given
// number of operations, or possibly so.
func (c *chains) until(ops int) *chains {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := &chains{disk: c.disk, drawn: c.drawn, rows: c.rows}
	for _, l := range c.leases {
		if l.withRow || l.ops < ops {
			left.leases = append(left.leases, l)
		}
	}
	return left
}

// done returns the number of operations that the disk has done.
func (c *chains) done() int {
	if c.disk == nil {
		return 0
	}
	return len(c.disk.Ops())
}

// held returns the leases that have not ended. The caller holds c.mu.
func (c *chains) held(dataset string) (all []budget.Lease) {
	now := map[string]budget.Lease{}
	for _, l := range c.leases {
		if l.dataset == dataset {
			now[l.lease.Run] = l.lease
		}
	}
	for _, run := range slices.Sorted(maps.Keys(now)) {
		if !now[run].Ended {
			all = append(all, now[run])
		}
	}
	return all
}

func (c *chains) Renew(_ context.Context, dataset string, from, to budget.Lease) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.held(dataset) {
		same := func(m budget.Lease) bool { return m.Charge == l.Charge && m.Events == l.Events }
		if l.Run == from.Run && l.Holder == from.Holder && (same(from) || same(to)) {
			to.Renewed = c.now()
			c.leases = append(c.leases, leased{dataset, to, c.done(), len(c.rows), false})
			return true, nil
		}
	}
	return false, nil
}

var storeTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// pass lets a time pass by the store's clock.
func (c *chains) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.elapsed += d
}

// now returns the time by the store's clock.
func (c *chains) now() string { return storeTime.Add(c.elapsed).Format(time.RFC3339) }

// between returns how many commits the store may have had, at least and at most, when the disk had
// done the given number of operations.
func (c *chains) between(ops int) (least, most int) {
	for _, r := range c.rows {
		if r.ops < ops {
			least++
		}
		if r.ops <= ops {
			most++
		}
	}
	return least, most
}

// open opens the store, whatever the address.
func (c *chains) open(context.Context, string) (*budget.Book, error) { return budget.NewBook(c), nil }

func (c *chains) tail(dataset string, from int) (t budget.Tail) {
	t.Now, t.Leases = c.now(), c.held(dataset)
	for _, r := range c.rows {
		if r.dataset != dataset {
			continue
		}
		if t.Length++; t.Length == from {
			t.Before = r.row.Hash
		}
		if t.Head = r.row.Hash; t.Length > from {
			t.Rows = append(t.Rows, r.row)
		}
	}
	return t
}

func (c *chains) failed(committed bool) error {
	if c.fail == nil {
		return nil
	}
	return c.fail(committed)
}

func (c *chains) Update(ctx context.Context, dataset string, from int,
	next func(budget.Tail) (*budget.Row, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := errors.Join(ctx.Err(), c.failed(false)); err != nil {
		return err
	}
	row, err := next(c.tail(dataset, from))
	if err != nil || row == nil {
		return err
	}
	ops := c.done()
	c.rows = append(c.rows, commit{dataset, budget.Row{Text: row.Text, Hash: row.Hash}, ops})
	if row.Lease != nil {
		l := *row.Lease
		l.Renewed = c.now()
		c.leases = append(c.leases, leased{dataset, l, ops, len(c.rows), true})
	}
	return c.failed(true)
}

func (c *chains) View(_ context.Context, dataset string, from int) (budget.Tail, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tail(dataset, from), nil
}

func (c *chains) Datasets(context.Context) ([]string, error) { return []string{"people"}, nil }

func (c *chains) Draw(context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drawn++
	return fmt.Sprintf("%032x", c.drawn), nil
}

func (c *chains) Key(context.Context) (string, error) { return strings.Repeat("0", 64), nil }

func (c *chains) Mark(context.Context, string, string) ([]string, error) { return nil, nil }

func (c *chains) Close() error { return nil }

// dataset returns the state of the dataset "people".
func (c *chains) dataset(t *testing.T) *budget.Dataset {
	t.Helper()
	d, err := budget.NewBook(c).Dataset(context.Background(), "people")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// newChains makes a store with a dataset whose cap has the given epsilon. It writes a
// configuration for the scene that names this dataset and runs gd with the given number of
// steps.
func newChains(t *testing.T, s scene, d *durabletest.Disk, epsilon float64, steps int) *chains {
	t.Helper()
	write(t, s.config(), peopleYAML+"budget: {store: \"sqlite:none.db\", dataset: people}\n"+
		"train: {algorithm: gd, steps: "+strconv.Itoa(steps)+"}\n")
	c := &chains{disk: d}
	limit, err := budget.NewCap(epsilon, 1e-6, account.ReplaceOne, 1)
	if err == nil {
		err = budget.NewBook(c).Create(context.Background(), "people", limit)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.at(1, d)
}

// answers records each release of a fit: the number of operations that its disk had done by
// then, and the charge so far.
type answers struct {
	marks   []int
	charged []float64
}

// least returns the charge of the answers that were returned within the given number of
// operations.
func (a answers) least(ops int) float64 {
	n, _ := slices.BinarySearch(a.marks, ops+1)
	if n == 0 {
		return 0
	}
	return a.charged[n-1]
}

// storedFit runs a fit of a scene on a disk, charged to a store.
func storedFit(t *testing.T, s scene, d *durabletest.Disk, c *chains) (f *Fitted, a answers, err error) {
	t.Helper()
	config, o, err := s.begin(nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Out, o.disk, o.Stores = diskOut, d, c.open
	o.Step = func(s train.Step) { a.marks, a.charged = append(a.marks, len(d.Ops())), append(a.charged, s.Charged) }
	f, err = fit(context.Background(), config, o)
	return f, a, err
}

var errUnreachable = errors.New("the store is out of reach")
