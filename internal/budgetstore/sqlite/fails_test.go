package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"testing"

	sqlite "modernc.org/sqlite"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
)

// failingDriver opens connections that fail as f says.
type failingDriver struct{ f *budgettest.Fails }

func (d failingDriver) Open(name string) (driver.Conn, error) {
	c, err := (&sqlite.Driver{}).Open(name)
	if err != nil {
		return nil, err
	}
	return d.f.Conn(c), nil
}

// TestEveryStatementFails runs the suite in which each statement fails in turn, COMMIT included.
func TestEveryStatementFails(t *testing.T) {
	n := 0
	budgettest.FailsEverywhere(t, func(t *testing.T, f *budgettest.Fails) (failing, sound func() budget.Store) {
		path := filepath.Join(t.TempDir(), "budgets.db")
		n++
		name := fmt.Sprint("failing", n)
		sql.Register(name, failingDriver{f})
		by := func(driver string) func() budget.Store {
			return func() budget.Store {
				driverName = driver
				defer func() { driverName = "sqlite" }()
				s, err := Open(context.Background(), path, true)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
		}
		return by(name), by("sqlite")
	})
}

// TestNoStoreOpensHalfMade lets each statement fail in turn that makes a store.
func TestNoStoreOpensHalfMade(t *testing.T) {
	defer func() { driverName = "sqlite" }()
	n := 0
	budgettest.MakingFails(t, func(f *budgettest.Fails) (budget.Store, error) {
		n++
		driverName = fmt.Sprint("making", n)
		sql.Register(driverName, failingDriver{f})
		return Open(t.Context(), filepath.Join(t.TempDir(), "budgets.db"), true)
	})
}
