package postgres

import (
	"context"
	"database/sql/driver"
	"flag"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
)

var network = flag.Bool("network", false, "measure the time for which releases wait for a store across a network")

// delayed makes connections whose statements each take a network's time longer.
type delayed struct {
	driver.Connector
	by time.Duration
}

func (c delayed) Connect(ctx context.Context) (driver.Conn, error) {
	own, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &delayedConn{own, c.by}, nil
}

type delayedConn struct {
	driver.Conn
	by time.Duration
}

func (c *delayedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	time.Sleep(c.by)
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *delayedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	time.Sleep(c.by)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *delayedConn) CheckNamedValue(v *driver.NamedValue) error {
	return c.Conn.(driver.NamedValueChecker).CheckNamedValue(v)
}

// TestReleasesHardlyWait runs releases of equal charge, each after some time of computing, over a server whose
// statements each take 5 or 20 ms longer. It measures the time for which releases wait for the store: at most 5% of
// the run's time.
func TestReleasesHardlyWait(t *testing.T) {
	if !*network {
		t.Skip("takes half a minute: go test -run Wait -network ./internal/budgetstore/postgres")
	}
	ctx := context.Background()
	address, _, _ := server(t)
	for i, c := range []struct {
		delay, work time.Duration
		releases    int
	}{
		{5 * time.Millisecond, time.Millisecond, 2000}, {5 * time.Millisecond, 10 * time.Millisecond, 400},
		{20 * time.Millisecond, time.Millisecond, 5000}, {20 * time.Millisecond, 10 * time.Millisecond, 400},
		{20 * time.Millisecond, 100 * time.Millisecond, 60},
	} {
		connector = func(own driver.Connector) driver.Connector { return delayed{own, c.delay} }
		s, err := Open(ctx, address, true)
		connector = func(own driver.Connector) driver.Connector { return own }
		if err != nil {
			t.Fatal(err)
		}
		b := budget.NewBook(s)
		name := "people" + string(rune('a'+i))
		if err := b.Create(ctx, name, budgettest.Cap(t)); err != nil {
			t.Fatal(err)
		}
		session := budgettest.NewSession(t, .1)
		run := b.Run(name, "")
		run.Hold()
		if err := run.Reserve(ctx, session.Ledger()); err != nil {
			t.Fatal(err)
		}
		var waited time.Duration
		began := time.Now()
		for n := range c.releases {
			time.Sleep(c.work)
			if err := session.Charge(.999 / float64(c.releases)); err != nil {
				t.Fatal(err)
			}
			asked := time.Now()
			if err := run.Cover(ctx, n, session.Ledger().Charged()); err != nil {
				t.Fatal(err)
			}
			waited += time.Since(asked)
		}
		whole := time.Since(began)
		d, err := b.Dataset(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		share := waited.Seconds() / whole.Seconds()
		t.Logf("| %v | %v | %d | %.1f s | %.3f s | %.1f%% |", c.delay, c.work, c.releases, whole.Seconds(), waited.Seconds(),
			100*share)
		if share > .05 || d.Runs[0].Lease.Charge < session.Ledger().Charged() {
			t.Errorf("releases waited for %.1f%% of the time: must be at most 5%%", 100*share)
		}
		if err := run.Settle(ctx, session); err != nil {
			t.Error(err)
		}
		b.Close()
	}
}
