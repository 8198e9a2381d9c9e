package curator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Config describes the records that a session holds and its budget.
type Config struct {
	// Path is a file: CSV, plain or compressed by gzip or zstd, or Parquet. "-" is standard input, which is
	// read to its end. Path is empty if Rows, Reader or Shards is given.
	Path string
	// Paths are further files of the same table, after Path if that is given. They must have the
	// same columns in the same order.
	Paths []string
	// CSV describes the format of the text in files and in Reader.
	CSV dataset.CSV
	// Rows is a table that the caller holds. It is nil if the table comes from another source.
	Rows *Rows
	// Reader is a stream of text, plain or compressed by gzip or zstd, which is read once
	// to its end; nil for files or Rows. Its errors are not shown, since they could quote a
	// record. The caller guarantees that the stream does not end before the table does.
	Reader io.Reader
	// Shards is a table whose partitions are held by workers in other processes; nil for files, Rows or
	// Reader.
	Shards *Shards
	// Schema describes the table's columns by public facts.
	Schema *dataset.Schema
	// Reduce, if not nil, is a public map from the schema's features to fewer features. Records are then the
	// mapped rows.
	Reduce *dataset.Projection
	// Loss is the loss of one record: of a row or, if the schema has a unit, of all rows of a unit
	// (loss.NewUnits).
	Loss loss.Loss
	// Budget is the privacy budget for all answers together. It has no default.
	Budget account.Budget
	// Reserve, if not nil, is called before the first answer is charged or computed, when the session's
	// budget and schedule are fixed. If it returns an error, the query fails, and the next query calls
	// Reserve again. Reserve serves to reserve the session's cost in a budget that outlasts the session. An
	// example is the method Reserve of a budget.Run that is made for this session alone.
	Reserve func(context.Context, account.View) error
	// Declared is the public number of records under add-or-remove, used in place of the secret
	// number. It is zero under replace-one.
	Declared float64
	// Workers is the number of goroutines of a pass over the rows, and of goroutines that encode
	// rows. Zero means GOMAXPROCS. The number affects speed, never the distribution of an answer.
	Workers int
	// BlockRows is the number of encoded rows that a pass over the rows processes at a time, as one block
	// in memory. Zero means as many rows as fit a cache. The number affects speed only.
	BlockRows int
	// Memory is the largest number of bytes in memory for encoded rows, including 4 bytes that a pass needs
	// for every row. Zero means no limit. Further rows go to a private file in Folder. The file affects
	// speed, never an answer. If the schema has a unit, the session uses memory in addition to this limit:
	// an entry for each unit and some bytes for each row that the unit keeps.
	Memory int64
	// Folder is the folder of the private file; empty means the system's folder for temporary files. Nobody else may
	// read the file. Where the system allows it, the file has no name, and it is gone when the session is closed or the
	// process ends. The file is not encrypted: the folder's disk must be allowed to hold records.
	//
	// The number of rows is secret under add-or-remove and if the schema has a unit. If Memory sets a
	// limit, the file is in these cases made before the first row is read. The disk must have room for all
	// rows, since a full disk would reveal that there were many.
	Folder string

	// partition is not nil if the rows are a partition of a table: their number is secret, and may be zero.
	partition *partition
}

// mostRows is the largest number of rows of a table in this process: of a whole table or of a partition.
const mostRows = math.MaxInt32

// Open reads the table and returns a session over it. If the context ends, Open stops reading and returns
// the context's error.
func Open(ctx context.Context, c Config) (*Session, error) {
	if c.Schema == nil {
		return nil, errors.New("curator: schema: must be given")
	}
	// The schema is copied, so that later assignments to the caller's schema have no effect.
	schema := *c.Schema
	c.Schema = &schema
	if c.Schema.Unresolved() {
		return nil,
			errors.New("curator: schema: curve: auto must be resolved to a number of knots first (dataset.Schema.Resolve)")
	}
	if err := matches(c.Loss, c.Schema); err != nil {
		return nil, err
	}
	if c.Reduce != nil {
		reduce := *c.Reduce
		c.Reduce = &reduce
		if err := reduce.Serves(c.Schema.Dim()); err != nil {
			return nil, fmt.Errorf("curator: %w", err)
		}
	}
	if err := probe(loss.RowLoss(c.Loss), c.features()); err != nil {
		return nil, err
	}
	coins, err := coin.NewSecret()
	if err != nil {
		return nil, err
	}
	if c.Shards != nil {
		e, err := c.gather(ctx, coins.Key())
		if err != nil {
			return nil, err
		}
		return c.over(e, coins, refiner(c, shared))
	}
	rows, err := read(ctx, c, mostRows, coins.Keyed())
	if err != nil {
		return nil, err
	}
	e, err := c.first(rows)
	if err != nil {
		return nil, err
	}
	return c.over(e, coins, refiner(c, rows.held))
}

// first returns the first engine of this process over a stored table. If it returns an error, it closes the
// table.
func (c Config) first(of *stored) (engine.Engine, error) {
	e, err := c.engine(of)
	if err != nil {
		of.rows.Close()
		return nil, err
	}
	return e, nil
}

// engine returns an engine of this process that computes sums over the records of a stored table.
func (c Config) engine(of *stored) (engine.Engine, error) {
	records, err := c.records(of)
	if err != nil {
		return nil, err
	}
	return engine.New(records, timed(c.Loss, c.Schema.Target()), c.workers())
}

// timed returns the loss with the baseline odds of a time to an event, which a loss of logit hazards needs beside rows.
func timed(l loss.Loss, t dataset.Target) loss.Loss {
	if u, ok := l.(loss.Units); ok && t.Event != "" {
		if of, err := loss.NewUnits(timed(u.Row(), t), u.Rows(), u.Summed()); err == nil {
			return of
		}
	}
	return targetpair.WithOdds(l, targetpair.Times{Cuts: t.Cuts, Increments: t.Hazards, Grouped: t.Grouped})
}

// over returns a session whose exact sums the given engine computes, until refine makes another of it. The
// engine may have the rows in other processes. If over returns an error, it closes the engine. The engine's
// type is internal: no package outside the folder of curator can make one.
func (c Config) over(e engine.Engine, coins *coin.Secret, refine refining) (*Session, error) {
	k, err := session.New(session.Config{
		Engine: e, Budget: c.Budget, Before: c.Reserve, Declared: c.Declared, Workers: c.workers(), Coins: coins,
		Unit: c.unit(), Filter: account.Filter(c.Schema.Filter()),
	})
	if err != nil {
		e.Close()
		return nil, err
	}
	return &Session{wall: &opaqueSession{session: func() *session.Session { return k }, refine: refine}}, nil
}

// Count returns the number of records in the configuration's files or Rows. This is the number of rows that the
// schema's public filter keeps or, if the schema has a unit, the number of units that have such a row. Count uses
// nothing else of the rows. The number is public under replace-one. Two tables that differ in one record have the same
// number, if the record passes the filter in both tables. Count returns an error for a Reader and for Shards.
func Count(ctx context.Context, c Config) (int, error) { return c.count(ctx) }

// workers returns the number of goroutines that work on rows.
func (c Config) workers() int { return cmp.Or(c.Workers, runtime.GOMAXPROCS(0)) }

// unit returns the schema's unit for the ledger, with the loss's rule for the rows of a unit (mean or sum).
// The function matches has checked that schema and loss have the same largest number of rows.
func (c Config) unit() account.Unit {
	unit := c.Schema.Unit()
	if unit == (dataset.Unit{}) {
		return account.Unit{}
	}
	count := account.Mean
	if c.Loss.(loss.Units).Summed() {
		count = account.Sum
	}
	return account.Unit{Column: unit.Column, Rows: unit.Rows, Count: count}
}

// features returns the number of features of a row, after Reduce if that is given.
func (c Config) features() int {
	if c.Reduce != nil {
		return c.Reduce.Size()
	}
	return c.Schema.Dim()
}

func matches(l loss.Loss, s *dataset.Schema) error {
	if l == nil {
		return errors.New("curator: loss: must be given")
	}
	rows := 0
	if u, ok := l.(loss.Units); ok {
		rows = u.Rows()
	}
	if unit := s.Unit(); unit.Rows != rows {
		return fmt.Errorf("curator: loss %s: is of units of %d rows at most (0: each row is a record): the schema has %d: "+
			"must be alike (loss.NewUnits)", l.Name(), rows, unit.Rows)
	}
	t := s.Target()
	if err := loss.Suits(l, loss.Targets{Classes: len(t.Classes), Weighted: t.Weight != "",
		Least: t.Least()}); err != nil {
		return fmt.Errorf("curator: target %q: %w", t.Column, err)
	}
	return nil
}
