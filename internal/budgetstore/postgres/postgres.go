// Package postgres keeps budgets in a PostgreSQL database, for teams.
//
// A transaction that writes locks its dataset's row before it reads the chain, so that no other transaction can append
// to the chain in between. It commits synchronously, whatever the server's default. A server whose settings allow it to
// lose commits is refused. A standby server that may replace the server must be synchronous. A standby server that is
// not synchronous may lack reservations that were made, and only the certificates of the runs concerned reveal this.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	_ "embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/budgetstore/sqlstore"
)

// mostConnections is the largest number of connections of a process. More connections would not
// help, since reservations of one dataset wait for each other.
const mostConnections = 4

// Open opens the store in a database, given by an address postgres://... If create is true, it
// creates missing tables. The address must hold no password, since addresses are written to the
// files of a run. Passwords come from PGPASSWORD or a password file. Open returns an error if the
// tables are missing or if the server's setting fsync or full_page_writes is off.
func Open(ctx context.Context, address string, create bool) (budget.Store, error) {
	c, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, errors.New("budget: store: the address of the database must be a postgres:// address")
	}
	// A single statement, such as a lease's renewal, is a transaction of its own. It must be on stable storage
	// when the server replies, whatever the server's default.
	if c.RuntimeParams == nil {
		c.RuntimeParams = map[string]string{}
	}
	c.RuntimeParams["synchronous_commit"] = "on"
	db := sql.OpenDB(connector(stdlib.GetConnector(*c)))
	db.SetMaxOpenConns(mostConnections)
	if err = check(ctx, db); err == nil {
		var s *sqlstore.Store
		if s, err = sqlstore.Open(ctx, db, dialect, create); err == nil {
			return s, nil
		}
	}
	db.Close()
	return nil, fmt.Errorf("budget: store %s on %s: %w", c.Database, c.Host, err)
}

// connector returns the connector by which Open makes connections. Tests replace it by one that fails.
var connector = func(c driver.Connector) driver.Connector { return c }

// check returns an error for a server that may lose commits: fsync and full_page_writes must be on.
func check(ctx context.Context, db *sql.DB) error {
	for _, setting := range []string{"fsync", "full_page_writes"} {
		var value string
		if err := db.QueryRowContext(ctx, "SELECT current_setting($1)", setting).Scan(&value); err != nil {
			return err
		}
		if value != "on" {
			return fmt.Errorf("%s = %s: must be on: the server would forget reservations", setting, value)
		}
	}
	return nil
}

// schema has a statement on each line. It begins with a lock, by which processes that
// create the tables at the same time wait for each other.
//
//go:embed schema.sql
var schema string

var dialect = sqlstore.Dialect{
	// A transaction first locks the row of its dataset's chain. After that it sees everything that
	// was committed before. Transactions on one dataset wait for this lock and run one after the
	// other. They are therefore serializable.
	Begin:    []string{"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", "SET LOCAL synchronous_commit = on"},
	Lock:     " FOR UPDATE",
	Read:     "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
	Draw:     "replace(gen_random_uuid()::text, '-', '')",
	Key:      "replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')",
	Now:      `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
	Leases:   "SELECT CASE WHEN to_regclass('stillpoint_leases') IS NULL THEN 0 ELSE 1 END",
	Numbered: true,
	Schema:   schema,
}
