package curator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Pace has, for each kind of query that was timed, the time in nanoseconds that a pass takes for each row on one
// processor of this machine.
type Pace map[query.Kind]float64

// PaceOf measures the time that passes take for each row of a schema with a loss, for queries of the given kinds.
// Queries are about the smoothed loss where their kind allows it. The measurement takes some hundredths of a
// second and uses generated rows, at most as many as given: no table is read. Pace has no time for kinds about
// pairs of features if there are more features than query.MaxPairs.
func PaceOf(ctx context.Context, s *dataset.Schema, reduce *dataset.Projection, l loss.Loss, by query.Smoothing,
	rows float64, kinds ...query.Kind) (Pace, error) {
	l = loss.RowLoss(l)
	c := Config{Schema: s, Reduce: reduce, Loss: l}
	d := c.features()
	if err := probe(l, d); err != nil {
		return nil, err
	}
	weights, err := loss.Check(l, d)
	if err != nil {
		return nil, fmt.Errorf("curator: %w", err)
	}
	p := probed{loss: l, from: make([]float64, weights), to: make([]float64, weights), features: d, metric: d, smoothing: by}
	if query.Margins(l, 0) == query.Scored {
		p.metric = weights
	}
	for j := range p.from {
		// A network may be quicker at the point zero than at others.
		p.from[j], p.to[j] = float64(j%7-3)/16, float64(j%5-2)/16
	}
	whole, err := c.madeUp(int(min(rows, float64(c.paced(weights)))), rows)
	if err != nil {
		return nil, err
	}
	pace := Pace{}
	for _, kind := range kinds {
		if !kind.Facts().Pairs {
			took, err := p.pass(ctx, kind, whole)
			if err != nil {
				return nil, err
			}
			pace[kind] = took / float64(whole.Len())
			continue
		}
		if d > query.MaxPairs {
			continue
		}
		if pace[kind], err = p.pairs(ctx, kind, c, rows); err != nil {
			return nil, err
		}
	}
	return pace, nil
}

// pairs returns the time in nanoseconds that a pass over pairs of features takes for each row. A pass takes a time
// for the pairs in addition to the time for its rows. The difference of two passes, one over more rows than the
// other, leaves it out. The other one has so many rows more that the difference is not lost in what passes vary by.
func (p probed) pairs(ctx context.Context, kind query.Kind, c Config, of float64) (float64, error) {
	var few float64
	for n := leastPaced; ; n *= 4 {
		rows, err := c.madeUp(n, of)
		if err != nil {
			return 0, err
		}
		took, err := p.pass(ctx, kind, rows)
		switch {
		case err != nil:
			return 0, err
		case few == 0:
			few = took
		case took > 2*few && took-few > paceLeast || n >= mostPairs:
			return max(took-few, took/10) / float64(n-leastPaced), nil
		}
	}
}

// probed is what the passes of a measurement have in common.
type probed struct {
	loss     loss.Loss
	from, to []float64 // points of queries
	// features is the number of features, and metric the dimension of metrics.
	features, metric int
	smoothing        query.Smoothing
}

// pass returns the time in nanoseconds of a pass over the rows for a query of the given kind: the shortest of
// several, since other programs may use the processor in between.
func (p probed) pass(ctx context.Context, kind query.Kind, rows row.Source) (float64, error) {
	e, err := engine.New(rows, p.loss, 1)
	if err != nil {
		return 0, err
	}
	facts := kind.Facts()
	var m query.Metric
	switch {
	case facts.Metric: // in a diagonal metric, whose pass over the rows' lengths is a short one
		m, err = query.NewDiagonal(slices.Repeat([]float64{1}, p.metric))
	case facts.Weighted:
		m, err = query.Identity(p.metric)
	}
	if err != nil {
		return 0, err
	}
	from, to := p.from, p.to
	if facts.Losses == query.NoLoss {
		from, to = from[:p.features], to[:p.features]
	}
	term := kind.Example(query.NewCohort(account.Everyone, float64(rows.Len())), from, to, m)
	if facts.Smooths && p.smoothing.On() {
		term = term.Smoothed(p.smoothing)
	}
	q, err := query.New(1, term)
	if err != nil {
		return 0, err
	}
	least := math.Inf(1)
	var spent time.Duration
	for turn := 0; turn < leastTurns || turn < mostTurns && spent < paceTime; turn++ {
		began := time.Now()
		if _, err := e.Sum(ctx, q, paceScale, nil); err != nil {
			return 0, err
		}
		took := time.Since(began)
		spent += took
		if turn > 0 { // the first pass measures the rows' lengths
			least = min(least, float64(took))
		}
	}
	return least, nil
}

// A measurement generates up to pacedRows different rows, in about madeCells cells, and holds them as often as it
// needs rows: as many as a pass of about paceWork products takes, between pacedRows and mostPaced. Passes over pairs of
// features are over leastPaced to mostPairs rows, until the times of two differ by paceLeast nanoseconds. A pass is
// repeated until paceTime is over, at least leastTurns and at most mostTurns times. paceScale is the number of grid
// steps in a unit of the sums.
const (
	pacedRows  = 256
	paceWork   = 1 << 19
	mostPaced  = 1 << 14
	madeCells  = 1 << 13
	madeBlock  = 1 << 10
	leastPaced = 16
	mostPairs  = leastPaced << 10
	paceLeast  = 2e5
	paceTime   = 2 * time.Millisecond
	leastTurns = 6
	mostTurns  = 20
	paceScale  = 0x1p30
)

// paced returns the number of rows of a measurement for a loss of the given number of parameters.
func (c Config) paced(weights int) int {
	filled := c.features()
	if c.Reduce == nil {
		for _, g := range c.Schema.Groups() {
			filled -= g.Width - 1
		}
	}
	work := weights / c.features() * filled
	if e, ok := c.Schema.Effects(); ok {
		work += 2 * e.Features // for the sines
	}
	return min(max(paceWork/work, pacedRows), mostPaced)
}

// madeUp returns a source of the given number of generated rows, whose features of effects are kept as those of a table
// of so many rows are (KeptEffects).
func (c Config) madeUp(count int, of float64) (row.Source, error) {
	whole, err := c.layout()
	if err != nil {
		return nil, err
	}
	var header []string
	s, t := c.Schema, c.Schema.Target()
	for _, column := range s.Columns() {
		header = append(header, column.Name)
	}
	header = append(header, t.Column)
	event, _, _ := strings.Cut(t.Event, "=")
	for _, name := range []string{t.Weight, t.Exposure.Column, s.Unit().Column, event, t.Entry} {
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
	// Goroutines of a pass take memory for a block, and keep it for all blocks. Blocks of few rows leave that out.
	rows, err := row.NewTableOf(layout, min(max(count/4, leastPaced), madeBlock))
	if err != nil {
		return nil, err
	}
	different := max(min(pacedRows, madeCells/len(header), count), leastPaced)
	e, b := c.encoder(m, layout, nil), new(batch)
	for i := range different {
		b.add(e.encode(madeUpCells(s, i)), different)
	}
	for i := range max(count, 1) {
		at := i % different
		r := b.kept[at]
		x, codes := b.x[at*len(r.x):], b.codes[at*len(r.codes):]
		rows.AppendCoded(x[:len(r.x)], r.level, codes[:len(r.codes)], r.y, r.ok)
	}
	found, _ := s.Effects()
	return c.computed(rows, whole, true, KeptEffects(of, found.Features))
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
	if t.Event != "" {
		_, value, _ := strings.Cut(t.Event, "=")
		cells = append(cells, []string{"0", cmp.Or(value, "1")}[i%2])
	}
	if t.Entry != "" {
		cells = append(cells, "0")
	}
	return cells
}

// probe evaluates a loss and its gradient on two generated rows, zero and a unit vector. It evaluates them
// at two points, zero and a unit vector, and for two targets. probe returns an error if the loss panics or
// returns a value that is not finite. Such a loss would make every record contribute zero, without a
// message, and a model would be trained on zeros.
func probe(l loss.Loss, dim int) error {
	parameters, err := loss.Check(l, dim)
	if err != nil {
		return fmt.Errorf("curator: %w", err)
	}
	axis, unit := make([]float32, dim), make([]float64, parameters)
	axis[0], unit[0] = 1, 1
	targets := []float64{-1, 1}
	if l.Target() == loss.Classes {
		targets = []float64{0, 1}
	}
	for _, x := range [][]float32{make([]float32, dim), axis} {
		for _, w := range [][]float64{make([]float64, parameters), unit} {
			for _, y := range targets {
				for _, what := range []string{"value", "gradient"} {
					if err := try(l, what, slices.Clone(w), slices.Clone(x), y); err != nil {
						return fmt.Errorf("curator: loss %s: its %s on a made-up row of norm %v, at a point of norm %v, for target "+
							"%v: %w: records would be faulty without a word", l.Name(), what, x[0], w[0], y, err)
					}
				}
			}
		}
	}
	return nil
}

// try evaluates a loss in a separate goroutine, since the loss may end the goroutine that calls it. It
// returns an error if the loss panics, ends its goroutine, or returns a value that is not finite. The error
// does not show the value of a panic. If the loss never ends, neither does try.
func try(l loss.Loss, what string, w []float64, x []float32, y float64) error {
	verdict := make(chan error, 1)
	go func() {
		err := errors.New("panics, or does not return")
		defer func() {
			_ = recover()
			verdict <- err
		}()
		err = judge(evaluate(l, what, w, x, y))
	}()
	return <-verdict
}

// evaluate evaluates a loss at one row. If what is "gradient", it returns the gradient or, for a loss.Margins or
// loss.RankOne, the slopes. Slopes are the derivatives of the loss with respect to the margins. For other texts,
// evaluate returns the value of the loss. Elements that the loss does not write are NaN.
func evaluate(l loss.Loss, what string, w []float64, x []float32, y float64) []float64 {
	value := func(f func(dst, z, y []float64), n int) []float64 {
		dst := unwritten(n)
		f(dst, loss.MarginsAt(w, x), []float64{y})
		return dst
	}
	gradient := what == "gradient"
	switch l := l.(type) {
	case loss.General:
		if !gradient {
			return []float64{l.Value(w, x, y)}
		}
		dst := unwritten(len(w))
		l.Gradient(dst, w, x, y)
		return dst
	case loss.Margins:
		if gradient {
			return value(l.Slopes, l.K())
		}
		return value(l.Values, 1)
	case loss.RankOne:
		if gradient {
			return value(l.Slopes, 1)
		}
		return value(l.Values, 1)
	}
	return nil
}

func unwritten(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

func judge(v []float64) error {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("is %v", x)
		}
	}
	return nil
}
