package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Source is a source of rows. Exactly one of three fields must be set: Path, the path of a file; Reader, a
// reader of CSV text; or Cells, an iterator.
type Source struct {
	Path   string
	Reader io.Reader
	// Header names the columns of Cells. Cells yields one slice of cells for each row. It may reuse the slice
	// after yield returns. A row whose number of cells differs from the header's is malformed. If Cells
	// yields an error, reading ends with this error.
	Header []string
	Cells  iter.Seq2[[]string, error]
}

// rows reads the rows of a table from an open source.
type rows interface {
	Header() []string
	For(*dataset.Map) error
	Next() (cells []string, ok bool, err error)
	// Readings returns the next n rows by the readings of their cells, or n = 0 if Next must be called.
	Readings() (columns [][]float64, n int, err error)
	Close() error
}

func (s Source) open(as dataset.CSV) (rows, error) {
	switch {
	case s.Cells != nil && s.Reader == nil && s.Path == "":
		next, stop := iter.Pull2(s.Cells)
		return &heldRows{s.Header, next, stop}, nil
	case s.Reader != nil && s.Cells == nil && s.Path == "":
		r, err := table.OpenStream(s.Reader, as)
		return tableRows{r}, err
	case s.Reader != nil || s.Cells != nil:
		return nil, errors.New("model: source: must be one of a path, a reader and cells")
	}
	r, err := table.Open([]string{s.Path}, as)
	return tableRows{r}, err
}

// tableRows reads the rows of a file or a stream.
type tableRows struct{ *table.Reader }

// For tells the reader which map m will encode the rows, so that the reader need not read columns that m does not use.
func (r tableRows) For(m *dataset.Map) error { return table.For(r.Reader, m) }

// heldRows reads rows from an iterator, Source.Cells.
type heldRows struct {
	header []string
	next   func() ([]string, error, bool)
	stop   func()
}

func (r *heldRows) Header() []string       { return r.header }
func (r *heldRows) For(*dataset.Map) error { return nil }
func (r *heldRows) Close() error           { r.stop(); return nil }

// Readings returns no rows, since all cells are texts.
func (r *heldRows) Readings() ([][]float64, int, error) { return nil, 0, nil }

func (r *heldRows) Next() ([]string, bool, error) {
	cells, err, more := r.next()
	if !more || err != nil {
		return nil, false, err
	}
	if len(cells) != len(r.header) {
		return nil, true, nil
	}
	return cells, true, nil
}

// Prediction is a model's prediction for one row.
type Prediction struct {
	// OK is false for a row that could not be encoded. All other fields are then zero.
	OK bool
	// Class is the predicted class; "" if the target is a number or a count.
	Class string
	// Probabilities are the predicted probabilities of the classes, in the schema's order; nil if the loss
	// predicts no probabilities.
	Probabilities []float64
	// Value is the predicted number or rate, in the target's units, or the risk of an event by the end of the time that
	// is modelled; 0 if the target has classes. A number is clamped to the target's public bounds if the model is
	// Clamped.
	Value float64
	// Interval is the confidence interval of Value, or of the probability of the second class. It is nil if
	// the model has no intervals, states none for this row, or is of ordered classes (Predict has an interval for each).
	Interval *Interval
	// Margins are the margins from which the prediction was computed: one, or one for each class.
	Margins []float64
}

// Predictions yields the prediction for each row of a source, in the order of the rows, by the rules of
// [Model.Predict] without a row filter. If an error occurs, it yields the error and ends.
func (m *Model) Predictions(ctx context.Context, from Source) iter.Seq2[Prediction, error] {
	return func(yield func(Prediction, error) bool) {
		l, err := m.predicting()
		var o Output
		if err == nil {
			o, err = m.Output()
		}
		if err != nil {
			yield(Prediction{}, err)
			return
		}
		interval, err := m.intervals(o, l)
		if err != nil { // the model has no intervals
			interval = func([]float32) []*Interval { return nil }
		}
		stopped := errors.New("stopped")
		err = m.scan(ctx, from, "", "", false, func(r record) error {
			p := Prediction{OK: r.ok}
			if r.ok {
				p = m.prediction(o, l, m.margins(r.x))
				if list := interval(r.x); len(list) == 1 {
					p.Interval = list[0]
				}
			}
			if !yield(p, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && err != stopped {
			yield(Prediction{}, err)
		}
	}
}

func (m *Model) prediction(o Output, l margins, z []float64) Prediction {
	p := Prediction{OK: true, Margins: z}
	switch o {
	case Risk:
		p.Value = risk(m.times(), z[0], m.schema.Target().High)
		return p
	case Value, Rate:
		p.Value = m.inUnits(l, z[0])
		return p
	case Probabilities:
		p.Probabilities = probabilities(l, z)
	case Probability:
		second := probability(l, z[0])
		p.Probabilities = []float64{1 - second, second}
	}
	p.Class = m.schema.Target().Classes[classOf(z)]
	return p
}

// record is one encoded row of a table. Its slices are overwritten by the next record.
type record struct {
	kept  bool      // kept by the row filter
	ok    bool      // the row could be encoded
	x     []float32 // features of the encoded row; zeros if ok is false
	y     float64   // encoded target; 0 if the table's targets are not read
	share float64   // encoded weight or exposure of the row, in [0, 1]; 1 if the table has none
	// joined is the target together with the row's weight or exposure, both encoded in one float64
	// as the loss expects it ([loss.Carry]).
	joined float64
	// entry and exit are the times, as shares of the end, between which a record with the time to an event was observed,
	// and event says whether the event occurred at exit.
	entry, exit float64
	event       bool
	level       int    // of the column whose hazard ratios change
	label       string // text of the target's cell; "" if targets are not read or ok is false
	group       string // text of the cell of the column by; "" without one
}

// checkEvery is the number of rows between two checks of the context.
const checkEvery = 1024

// scan encodes the rows of a table and calls visit for each, in order. where is a row filter; "" keeps every row. by
// names a column of groups, "" none. If labelled is true, scan also encodes targets, and the table must have the
// target's column. An error of visit, or a cancelled context, ends the scan.
func (m *Model) scan(ctx context.Context, from Source, where, by string, labelled bool, visit func(record) error) error {
	schema, err := m.schema.Where(where)
	if err != nil {
		return err
	}
	rows, err := from.open(m.csv)
	if err != nil {
		return err
	}
	defer rows.Close()
	s, err := m.scanner(schema, rows, by, labelled)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if !labelled {
			if n, err := s.visitReadings(ctx, visit); err != nil {
				return err
			} else if n > 0 {
				continue
			}
		}
		cells, more, err := rows.Next()
		if err != nil || !more {
			return err
		}
		if err := visit(s.encode(cells)); err != nil {
			return err
		}
	}
}

// scanner encodes the rows of an open table.
type scanner struct {
	*Model
	rows   rows
	rowMap *dataset.Map
	// target and group are the indexes of the cells of the target and of the group; -1 without such a column.
	target, group int
	// labelled: targets are read. timed: they are times to an event. carries: they come with a weight or an exposure.
	labelled, timed, carries bool
	record                   record // the latest
}

// scanner returns a scanner of open rows, by the rules of scan.
func (m *Model) scanner(schema *dataset.Schema, rows rows, by string, labelled bool) (*scanner, error) {
	header, t, bind := rows.Header(), schema.Target(), schema.BindUnlabelled
	if labelled {
		bind = schema.Bind
	}
	rowMap, err := bind(header)
	if err != nil {
		return nil, err
	}
	s := &scanner{Model: m, rows: rows, rowMap: rowMap, target: cellOf(t.Column, header), group: cellOf(by, header),
		labelled: labelled, timed: labelled && t.Event != "", carries: labelled && (t.Weight != "" || t.Least() > 0),
		record: record{x: make([]float32, rowMap.Dim()), share: 1}}
	if by == "" { // a reader for the map leaves out other columns
		return s, rows.For(rowMap)
	}
	if s.group < 0 {
		return nil, fmt.Errorf("by = %s: must be a column of the table", strconv.Quote(by))
	}
	return s, nil
}

// visitReadings calls visit for the rows whose cells come as readings, and returns their number.
func (s *scanner) visitReadings(ctx context.Context, visit func(record) error) (int, error) {
	columns, n, err := s.rows.Readings()
	if err != nil {
		return 0, err
	}
	for j := range n {
		if j%checkEvery == 0 && ctx.Err() != nil {
			return j, ctx.Err()
		}
		r := &s.record
		r.kept = s.rowMap.KeepReadings(columns, j)
		r.joined, r.ok = s.rowMap.EncodeReadingsWhole(r.x, columns, j)
		r.level = targetpair.Level(r.joined)
		if err := visit(*r); err != nil {
			return j, err
		}
	}
	return n, nil
}

// encode returns the record of a row of cells.
func (s *scanner) encode(cells []string) record {
	r := &s.record
	r.kept = s.rowMap.Keep(cells)
	r.joined, r.ok = s.rowMap.Encode(r.x, cells)
	r.level, r.label = targetpair.Level(r.joined), ""
	if s.timed && r.ok {
		r.entry, r.exit, r.event = targetpair.SplitTimes(r.joined)
		r.joined = s.times().Carried(r.joined)
	}
	r.y, r.share = r.joined, 1
	if s.carries {
		r.y, r.share = loss.Carried(s.loss.Target(), r.joined)
	}
	if s.labelled && r.ok {
		r.label = strings.TrimSpace(cells[s.target])
	}
	if s.group >= 0 && s.group < len(cells) {
		r.group = strings.TrimSpace(cells[s.group])
	}
	return *r
}

// cellOf returns the index of a column in a table's header, or -1 if the header lacks it.
func cellOf(column string, header []string) int {
	return slices.IndexFunc(header, func(name string) bool { return strings.TrimSpace(name) == column })
}
