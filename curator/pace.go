package curator

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Pace is the time that a pass takes for each row on this machine, in nanoseconds on one processor.
type Pace struct {
	// Gradient is the time, for each row, of a pass that sums gradients.
	Gradient float64
	// Metric is the time, for each row, of a pass that sums gradients and limits their norms in a metric. It is
	// zero where Pairs is.
	Metric float64
	// Pairs is the time, for each row, of a pass that sums the products of all pairs of features. It is
	// zero if the caller did not ask for it, or if there are more features than query.MaxPairs.
	Pairs float64
}

// PaceOf measures the time that passes take for each row of a schema with a loss. The measurement takes
// some hundredths of a second and uses generated rows: no table is read.
func PaceOf(ctx context.Context, s *dataset.Schema, reduce *dataset.Projection, l loss.Loss, pairs bool) (Pace, error) {
	l = loss.RowLoss(l)
	c := Config{Schema: s, Reduce: reduce, Loss: l}
	layout, err := c.layout()
	if err != nil {
		return Pace{}, err
	}
	if err := probe(l, c.features()); err != nil {
		return Pace{}, err
	}
	weights, err := loss.Check(l, c.features())
	if err != nil {
		return Pace{}, fmt.Errorf("curator: %w", err)
	}
	rows, err := c.madeUp(layout, min(max(paceWork/weights, 1), mostPaced/pacedRows))
	if err != nil {
		return Pace{}, err
	}
	e, err := engine.New(rows, l, 1)
	if err != nil {
		return Pace{}, err
	}
	at := make([]float64, weights)
	for j := range at {
		at[j] = float64(j%7-3) / 16 // a neural network may be quicker at the point zero than at others
	}
	everyone := query.NewCohort(account.Everyone, float64(rows.Len()))
	pace := func(t query.Term) (float64, error) {
		q, err := query.New(1, t)
		if err != nil {
			return 0, err
		}
		var took []time.Duration
		for start := time.Now(); len(took) < 3 || len(took) < mostTurns && time.Since(start) < paceTime; {
			from := time.Now()
			if _, err := e.Sum(ctx, q, paceScale, nil); err != nil {
				return 0, err
			}
			took = append(took, time.Since(from))
		}
		// The result is the lower quartile of the times, since other programs may use the processor in
		// between.
		slices.Sort(took)
		return float64(took[len(took)/4]), nil
	}
	whole, err := pace(query.GradientAt(everyone, at, 1))
	if err != nil {
		return Pace{}, err
	}
	p := Pace{Gradient: whole / float64(rows.Len())}
	d := c.features()
	if !pairs || d > query.MaxPairs {
		return p, nil
	}
	dense := make([]float64, d*d)
	for i := range dense {
		dense[i] = 1 / float64(d)
		if i%(d+1) == 0 {
			dense[i]++
		}
	}
	metric, err := query.NewMetric(d, dense)
	if err != nil {
		return Pace{}, err
	}
	if whole, err = pace(query.GradientInMetric(everyone, at, 1, 1, metric)); err != nil {
		return Pace{}, err
	}
	p.Metric = whole / float64(rows.Len())
	// A pass over pairs of features takes a fixed time in addition to the time for its rows. The difference
	// of two measurements, one with three times as many rows as the other, leaves the fixed time out.
	var took [2]float64
	for i, times := range []int{1, 3} {
		if rows, err = c.madeUp(layout, times); err != nil {
			return Pace{}, err
		}
		if e, err = engine.New(rows, l, 1); err != nil {
			return Pace{}, err
		}
		if took[i], err = pace(query.SecondMomentOf(query.NewCohort(account.Everyone, float64(rows.Len())), d)); err != nil {
			return Pace{}, err
		}
	}
	p.Pairs = max(took[1]-took[0], took[1]/10) / (2 * pacedRows)
	return p, nil
}

// pacedRows is the number of different rows of a measurement. The table holds each of them several times.
// mostPaced is the largest number of rows of the table. A pass computes about paceWork products for each
// different row. paceScale is the number of grid steps in a unit of the sums. A measurement makes at least
// three passes. It makes further passes until paceTime is over, up to mostTurns.
const (
	pacedRows = 64
	mostPaced = 1 << 14
	paceWork  = 1 << 14
	paceScale = 0x1p30
	paceTime  = 8 * time.Millisecond
	mostTurns = 50
)

// madeUp returns a source of pacedRows generated rows. The source holds the sequence of these rows as often
// as the argument times says.
func (c Config) madeUp(whole *row.Layout, times int) (row.Source, error) {
	var header []string
	s, t := c.Schema, c.Schema.Target()
	for _, column := range s.Columns() {
		header = append(header, column.Name)
	}
	header = append(header, t.Column)
	for _, name := range []string{t.Weight, t.Exposure.Column, s.Unit().Column} {
		if name != "" {
			header = append(header, name)
		}
	}
	m, err := s.Bind(header)
	if err != nil {
		return nil, err
	}
	layout, err := whole.Bare()
	if err != nil {
		return nil, err
	}
	rows, err := row.NewTableOf(layout, 0)
	if err != nil {
		return nil, err
	}
	e, b := c.encoder(m, layout, nil), new(batch)
	for i := range pacedRows {
		b.add(e.encode(madeUpCells(s, i)), pacedRows)
	}
	for range times {
		for i, r := range b.kept {
			x, codes := b.x[i*len(r.x):], b.codes[i*len(r.codes):]
			rows.AppendCoded(x[:len(r.x)], r.level, codes[:len(r.codes)], r.y, r.ok)
		}
	}
	return c.computed(rows, whole, true)
}

// madeUpCells returns the cells of generated row i, in the order of madeUp's header. The cells of dates are
// empty.
func madeUpCells(s *dataset.Schema, i int) (cells []string) {
	within := func(low, high float64) string {
		part := float64((2*i+17*len(cells)+1)%97) / 97
		return strconv.FormatFloat(low*(1-part)+high*part, 'g', 6, 64)
	}
	for _, c := range s.Columns() {
		cell := ""
		switch c.Kind {
		case dataset.Number:
			cell = within(c.Low, c.High)
		case dataset.Category:
			cell = c.Categories[(i+len(cells))%len(c.Categories)]
		case dataset.Hash:
			cell = strconv.Itoa(i)
		}
		cells = append(cells, cell)
	}
	t := s.Target()
	if t.Kind == dataset.Category {
		cells = append(cells, t.Classes[i%len(t.Classes)])
	} else {
		cells = append(cells, within(t.Low, t.High))
	}
	if t.Weight != "" {
		cells = append(cells, "1")
	}
	if t.Exposure != (dataset.Exposure{}) {
		cells = append(cells, within(t.Exposure.Low, t.Exposure.High))
	}
	if s.Unit() != (dataset.Unit{}) {
		cells = append(cells, strconv.Itoa(i))
	}
	return cells
}
