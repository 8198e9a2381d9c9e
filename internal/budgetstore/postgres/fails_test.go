package postgres

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/budgettest"
)

// failingConnector makes connections that fail as f says.
type failingConnector struct {
	driver.Connector
	f *budgettest.Fails
}

func (c failingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	own, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.f.Conn(own), nil
}

// TestEveryStatementFails runs the suite in which each statement fails in turn, COMMIT included.
func TestEveryStatementFails(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	address, _, _ := server(t)
	budgettest.FailsEverywhere(t, func(t *testing.T, f *budgettest.Fails) (failing, sound func() budget.Store) {
		by := func(wrap func(driver.Connector) driver.Connector) func() budget.Store {
			return func() budget.Store {
				before := connector
				connector = wrap
				defer func() { connector = before }()
				s, err := Open(context.Background(), address, true)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
		}
		return by(func(c driver.Connector) driver.Connector { return failingConnector{c, f} }), by(connector)
	})
}
