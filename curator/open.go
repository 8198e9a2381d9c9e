package curator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/kernel"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Config says which records a session holds and what it may charge.
type Config struct {
	// Path is a file: CSV, plain or compressed by gzip or zstd, or Parquet; "-" is
	// standard input, read to its end. It is empty if Rows is given.
	Path string
	// Paths are files that follow Path, if that is given, as one table. They have the
	// same columns in the same order.
	Paths []string
	// CSV says how files that are text are written.
	CSV dataset.CSV
	// Rows are those of a table that the caller holds; nil for a file's.
	Rows *Rows
	// Reader is a stream of text, plain or compressed by gzip or zstd, which is read once
	// to its end; nil for files or Rows. What it fails with is not shown. Whoever reads
	// from it sees to it that its end is the table's.
	Reader io.Reader
	// Schema describes its columns by public facts.
	Schema *dataset.Schema
	// Reduce, if not nil, maps rows to shorter ones by a public map made for the schema's
	// features: records are then mapped rows, of as many features.
	Reduce *dataset.Projection
	// Loss is the loss of one record: of a row or, where the schema has a unit, of all
	// rows of one (loss.NewUnits).
	Loss loss.Loss
	// Budget is what all answers together may be charged. It has no default.
	Budget account.Budget
	// Reserve, if not nil, is called before the first answer is charged or computed,
	// with the session's budget and schedule settled: an error refuses the question,
	// and is asked for again at the next. It is where a budget that outlasts the
	// session is reserved: Reserve of a budget.Run, made for this session alone.
	Reserve func(context.Context, account.View) error
	// Declared is the public number of records under add-or-remove, which
	// stands in for the secret one; zero under replace-one.
	Declared float64
	// Workers is the number of goroutines of a pass, and of those that encode what is
	// read; zero means GOMAXPROCS. It changes speed, never an answer's law.
	Workers int
	// BlockRows is the number of rows of a block in memory; zero means as many
	// as fit a cache. It changes speed only.
	BlockRows int
	// Memory is how many bytes are kept in memory of encoded rows and of what a pass keeps
	// beside every row, 4 bytes; zero means all. Rows beyond it go to a file in Folder, "" for the system's folder for temporary
	// files, which nobody else may read, which has no name where the system allows
	// that, and which is gone once the session is closed or the process ends. It is
	// not encrypted: the folder's disk must be one that may hold records. Whether
	// rows are kept in a file changes speed, never an answer. Where how many rows there are
	// is secret, under add-or-remove and with units, the file is made before the first; a
	// disk that fills up still tells that there were many: it must have room. Where the schema has a unit,
	// an entry for each and some bytes for each of its rows are in memory beside them.
	Memory int64
	Folder string
}

// Open reads the table and returns a session over it. A cancelled context ends the
// reading.
func Open(ctx context.Context, c Config) (*Session, error) {
	if c.Schema == nil {
		return nil, errors.New("curator: schema: must be given")
	}
	// What is assigned to the caller's schema from here on changes nothing.
	schema := *c.Schema
	c.Schema = &schema
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
	rows, err := read(ctx, c, math.MaxInt32, coins.Keyed())
	if err != nil {
		return nil, err
	}
	opened := false
	defer func() {
		if !opened {
			rows.Close()
		}
	}()
	k, err := kernel.New(kernel.Config{
		Table: rows, Loss: c.Loss, Budget: c.Budget, Before: c.Reserve, Declared: c.Declared, Workers: c.workers(), Coins: coins,
		Unit: c.unit(), Filter: account.Filter(c.Schema.Filter()),
	})
	if err != nil {
		return nil, err
	}
	opened = true
	return &Session{wall: &wall{kernel: func() *kernel.Session { return k }}}, nil
}

// Count returns the number of records of the configuration's files or Rows, the n that
// replace-one makes public: of rows that its schema's public filter keeps, or of units
// that have such a row. It reads nothing else of them. Tables that differ in one record
// which passes the filter in both agree on it.
func Count(ctx context.Context, c Config) (int, error) { return c.count(ctx) }

// workers is how many goroutines work on rows.
func (c Config) workers() int {
	if c.Workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return c.Workers
}

// unit says whose rows make up a record: the schema's, counted as the loss does, which
// has as many (matches).
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

// features is their number in a row.
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
		return fmt.Errorf("curator: loss %s: is of units of %d rows at most (0: each row is a record): the schema has %d: must be alike (loss.NewUnits)", l.Name(), rows, unit.Rows)
	}
	t := s.Target()
	if err := loss.Suits(l, loss.Targets{Classes: len(t.Classes), Weighted: t.Weight != "", Least: t.Least()}); err != nil {
		return fmt.Errorf("curator: target %q: %w", t.Column, err)
	}
	return nil
}
