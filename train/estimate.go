package train

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Range returns the range in which the gradient norm at the result is likely to be: .1 and 2.5 times the
// predicted norm. On the tables of results/accuracy.md the measured gradient norms were in this range; they
// were near its low end where every feature occurred twice. In results/planner.md and in results/outcome.md
// they were in this range in nine of ten settings. If no prediction may be stated (choose.Stated), low and
// high are 0.
func (p Planned) Range() (low, high float64) {
	return .1 * p.Summary.Predicted, 2.5 * p.Summary.Predicted
}

// Estimate is the approximate time and memory of a fit, computed from public numbers alone.
type Estimate struct {
	// Time is the processor time. A fit on several processors takes less real time, since passes are
	// divided among them.
	Time time.Duration `json:"processor_nanoseconds"`
	// Memory is the largest memory of the fit, in bytes.
	Memory float64 `json:"memory_bytes"`
}

// Costs of the operations of a fit in nanoseconds, measured on the machine of results/speed.md. On
// other machines they differ by small factors.
const (
	perCell       = 60  // for each cell of a text table: to read it and to count the records
	perTyped      = 15  // for each cell of a Parquet table
	perProduct    = .5  // for each row, feature and margin of the loss, in a pass over the rows
	perPair       = .12 // for each row and pair of its nonzero features, in a pass that computes the second moment
	perSine       = 8   // for each feature of effects and row, in a pass that computes them
	perCoordinate = 50  // for the noise of one coordinate
	perEigen      = 1   // times the cube of the number of features: for the eigenvalues of the second moment
	perTurn       = 1e3 // times the square of the number of features, in addition to perEigen
	perFit        = 2e8 // to start the program, to plan every algorithm and to count the rows, whatever their number
)

// Costs of a fit in bytes of memory.
const (
	perProgram = 30 << 20 // for the program with an empty table
	perGarbage = .4       // for each byte of an encoded row: what is not yet collected while rows are read
	perPage    = 5        // for each cell of a Parquet table
	mostPages  = 2 << 20  // limit of perPage's sum, for each column of a Parquet table
	perWave    = 4        // for each feature of effects and row, while they are kept
	perText    = 8        // for each cell of a text table
	mostText   = 12 << 20 // limit of perText's sum, for the whole text table
)

// rowBytes returns the bytes that an encoded row takes in memory: a float32 for each numeric feature, with
// the number of features rounded up to a multiple of eight; 12 bytes for the target and the other values kept
// with a row; and, if the schema has categories, 4 bytes plus 2 bytes for each category. Features of curves
// and of interactions with numbers take no memory, since they are computed from the stored numbers; nor do
// features of effects. Rows
// after a projection have numeric features only.
func rowBytes(s *dataset.Schema, reduce *dataset.Projection) float64 {
	numbers, groups := s.WithoutEffects().Dim(), s.Groups()
	for _, h := range s.Hats() {
		numbers -= h.Width // a row stores the number itself instead of the features of its curve
	}
	for _, g := range groups {
		numbers -= g.Width
	}
	if reduce != nil {
		numbers, groups = reduce.Size(), nil
	}
	bytes := 4*float64((numbers+7)/8*8) + 12
	if len(groups) > 0 {
		bytes += 4 + 2*float64(len(groups))
	}
	return bytes
}

// costs holds the public numbers from which the time and the memory of a fit are estimated.
type costs struct {
	// rows is the largest number of rows that the records may have.
	rows     float64
	weights  float64 // number of the model's parameters
	summary  optimize.Summary
	features int     // number of a row's features on which the model is trained
	cells    int     // number of the table's columns that are read, including the target
	typed    bool    // the table is Parquet
	row      float64 // bytes of an encoded row in memory
	memory   float64 // limit of the table's memory in bytes; 0 for none

	// waves is the number of features of effects, and computed is true if they are computed in each pass.
	waves    float64
	computed bool

	schema *dataset.Schema
	reduce *dataset.Projection
	loss   loss.Loss
}

// estimate returns the likely time and memory of a fit. pace has the times of passes, in nanoseconds for each
// row, measured on this machine. A field of pace that is 0 was not measured, and a constant of this file
// replaces it.
func (c costs) estimate(pace curator.Pace) Estimate {
	o, n, d, weights := c.summary, c.rows, float64(c.features), c.weights
	pairs := d * (d + 1) / 2
	if pace.Gradient == 0 {
		pace.Gradient = weights * perProduct
	}
	if pace.Pairs == 0 {
		pace.Pairs = pairs * perPair
	}
	if o.PairPasses > 0 && pace.Metric > 0 {
		pace.Gradient = pace.Metric // an algorithm that asks for the second moment steps in a metric made of it
	}
	read := n * float64(c.cells)
	if c.computed {
		pace.Gradient += c.waves * perSine
	}
	time := perFit + o.Passes*n*pace.Gradient + float64(o.Steps)*weights*perCoordinate
	bytes := n * c.row
	if !c.computed {
		bytes += n * c.waves * perWave
	}
	garbage := bytes * perGarbage
	if c.memory > 0 {
		bytes = min(bytes, c.memory)
		garbage = min(bytes*perGarbage, c.memory/10+8<<20) // the command limits the heap to this
	}
	reading := bytes + garbage
	if c.typed {
		time += read * perTyped
		pages := min(read*perPage, float64(c.cells)*mostPages)
		if c.memory > 0 {
			pages = min(pages, c.memory/4)
		}
		reading += pages
	} else {
		time += read * perCell
		reading += min(read*perText, mostText)
	}
	if o.PairPasses > 0 {
		// These are needed when all rows have been read.
		time += o.PairPasses*n*pace.Pairs + pairs*perCoordinate + d*d*(d*perEigen+perTurn)
		// The first term is for the sums of four goroutines, the second for the matrix, its eigenvectors and
		// the metric (the preconditioner).
		bytes += 8*pairs*4 + 40*d*d
	}
	return Estimate{Time: duration(time), Memory: max(reading, bytes) + perProgram}
}

// paces caches the times of passes that this process has measured. The key consists of the loss's name and
// the shape of the rows.
var paces sync.Map

// Measured returns the estimate of the fit's time and memory, with the time of a pass over the rows
// measured on this machine. The measurement takes a few hundredths of a second and is made once in
// a process for each loss and shape of rows. If it fails, Measured returns p.Estimate.
func (p Planned) Measured(ctx context.Context) Estimate {
	c := p.costs
	if c.schema == nil {
		return p.Estimate
	}
	key := [...]any{c.loss.Name(), c.features, c.row, c.summary.PairPasses > 0}
	known, ok := paces.Load(key)
	if !ok {
		pace, err := curator.PaceOf(ctx, c.schema, c.reduce, c.loss, c.summary.PairPasses > 0)
		if err != nil {
			return p.Estimate
		}
		known, _ = paces.LoadOrStore(key, pace)
	}
	return c.estimate(known.(curator.Pace))
}

// duration converts nanoseconds to a time.Duration. Values above half of the largest time.Duration are cut to
// that half.
func duration(ns float64) time.Duration { return time.Duration(min(ns, math.MaxInt64/2)) }

// String returns the estimate in a few words, with numbers rounded to two digits.
func (e Estimate) String() string {
	t := "less than a second"
	switch s := e.Time.Seconds(); {
	case s >= 5400:
		t = fmt.Sprintf("about %.2g hours", s/3600)
	case s >= 90:
		t = fmt.Sprintf("about %.2g minutes", s/60)
	case s >= 1:
		t = fmt.Sprintf("about %.2g seconds", s)
	}
	if e.Memory >= 1e9 {
		return fmt.Sprintf("%s of one processor, about %.2g GB of memory", t, e.Memory/1e9)
	}
	return fmt.Sprintf("%s of one processor, about %.2g MB of memory", t, e.Memory/1e6)
}
