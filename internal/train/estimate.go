package train

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/synthetic"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Range returns the range in which the gradient norm at the result is likely to be: .1 and 2.5 times the predicted
// norm. On the tables of lab/results/accuracy.md the measured gradient norms were in this range; they were near its low
// end where every feature occurred twice. In lab/results/planner.md and in lab/results/outcome.md they were in this
// range in nine of ten settings. If no prediction may be stated (choose.Stated), low and high are 0.
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

// Costs of the operations of a fit in nanoseconds, measured on the machine of lab/results/speed.md. On
// other machines they differ by small factors.
const (
	perCell       = 60   // for each cell of a text table: to read it and to count the records
	perZipped     = 40   // for each cell of a compressed text table, in addition
	perTyped      = 15   // for each cell of a Parquet table
	perProduct    = .5   // for each row, feature and margin of the loss, in a pass over the rows
	perPair       = .12  // for each row and pair of features, in a pass over the pairs
	perLength     = .04  // for each row and pair of features, in a pass over the rows' lengths in a metric
	perSine       = 1.2  // for each feature of effects and row, whenever they are computed
	perCoin       = 1.5  // for each record and Poisson sample
	perGathered   = 40   // for each record of a query about a part of the records: they are scattered in memory
	perQuery      = 3e4  // for each query: goroutines, their scratch memory, the ledger
	perCoordinate = 50   // for each coordinate of a sum: its share of each goroutine, and its noise
	perLift       = 1    // for each entry of a metric's matrix, by which a sum is multiplied
	perEigen      = .3   // times the cube of the number of features: for the eigenvalues of the second moment
	perSynthetic  = 1.2  // for each product of two features of a synthetic row
	perMultiplied = .1   // for each product of two features of a synthetic row with features of effects
	perTurn       = 1e3  // times the square of the number of features, in addition to perEigen
	perFit        = 6e7  // to start the program, to make the plan of an algorithm and to write the files
	perChoice     = 14e7 // to plan every algorithm, for auto
	perSchedule   = 9e8  // to calibrate the noise of a schedule of Poisson samples
)

// Costs of a fit in bytes of memory.
const (
	perProgram = 30 << 20   // for the program with an empty table
	perGarbage = .4         // for each byte of an encoded row: what is not yet collected while rows are read
	perPage    = 5          // for each cell of a Parquet table
	mostPages  = 2 << 20    // limit of perPage's sum, for each column of a Parquet table
	perEdge    = 12         // for each edge of a row's curves and surfaces, while they are kept
	mostEdges  = 1 << 28    // limit of perEdge's sum, above which they are not kept
	perWave    = 4          // for each feature of effects and row, while they are kept
	waveBlocks = 4          // blocks of rows with features of effects: of two goroutines, in use and not yet collected
	perBlock   = 256 << 10  // for the stored rows of a block
	perSlopes  = 8          // for each row of at least wideRow bytes, in a metric: the squares of its slopes
	wideRow    = 4*128 + 12 // bytes of 128 numbers, from which engines keep these squares, and of a target
	perText    = 8          // for each cell of a text table
	mostText   = 12 << 20   // limit of perText's sum, for the whole text table
)

// rowBytes returns the bytes that an encoded row takes in memory: a float32 for each numeric feature, with
// the number of features rounded up to a multiple of eight; 12 bytes for the target and the other values kept
// with a row; and, if the schema has categories, 4 bytes plus 2 bytes for each category. Features of curves
// and of interactions with numbers take no memory, since they are computed from the stored numbers; nor do
// features of effects. Rows after a projection have numeric features only.
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
	rows   float64
	stages []stage
	chosen bool    // the algorithm is chosen among all
	cells  int     // number of the table's columns that are read, including the target
	typed  bool    // the table is Parquet
	zipped bool    // the table is text, and compressed
	row    float64 // bytes of an encoded row in memory
	memory float64 // limit of the table's memory in bytes; 0 for none

	// waves is the number of features of effects, and kept the share of rows whose are kept from pass to pass.
	waves, kept float64
	// edges is the number of edges of a row's curves and surfaces.
	edges float64
	// synthetic is the number of nonzero features of a synthetic row without features of effects; 0 without such rows.
	synthetic float64
}

// stage is a part of a fit whose queries are about the same features.
type stage struct {
	work     optimize.Workload
	features int     // number of a row's features on which the model is trained
	weights  float64 // number of the model's parameters

	schema *dataset.Schema
	reduce *dataset.Projection
	loss   loss.Loss
	pace   curator.Pace // what was measured on this machine; nil if nothing was
	// keeps is true if the engine keeps the squares of slopes: it then asks for them without a pass over the rows.
	keeps bool
}

// passes returns the passes over the rows that queries of a kind make.
func (s stage) passes(k query.Kind) float64 {
	if l := s.work.Kinds[k]; k != query.SquaredSlope || !s.keeps {
		return l.Passes
	}
	return min(s.work.Kinds[k].Passes, 1)
}

// usual returns the usual time in nanoseconds that a pass for queries of a kind takes for each row.
func (s stage) usual(k query.Kind) float64 {
	d := float64(s.features)
	switch {
	case k.Facts().Pairs:
		return d * (d + 1) / 2 * perPair
	case k == query.Difference || k == query.ValueChange:
		return 2 * s.weights * perProduct
	}
	return s.weights * perProduct
}

// perRow returns the time in nanoseconds that a pass for queries of a kind takes for each row: as measured, if it
// was, or as usual.
func (s stage) perRow(k query.Kind) float64 {
	if t := s.pace[k]; t > 0 {
		return t
	}
	return s.usual(k)
}

// time returns the time in nanoseconds of the stage's queries about a table of n rows, and of what the algorithm
// computes from their answers.
func (s stage) time(n float64) float64 {
	d := s.paired()
	sum := s.work.Samples*n*perCoin + float64(s.work.Block*s.work.Block/2)*perCoordinate
	if s.work.Samples > 0 {
		sum += perSchedule
	}
	for _, k := range slices.Sorted(maps.Keys(s.work.Kinds)) { // in one order, so that the sum has the same bits always
		l, facts, dim := s.work.Kinds[k], k.Facts(), int(s.weights)
		if facts.Losses == query.NoLoss {
			dim = s.features
		}
		sum += s.passes(k)*n*s.perRow(k) + l.Queries*(perQuery+float64(facts.SumDim(dim))*perCoordinate)
		if l.Passes < l.Queries {
			sum += l.Passes * n * perGathered
		}
		if facts.Lifted {
			sum += l.Queries * d * s.weights * d / float64(s.features) * perLift
		}
	}
	if s.work.Metrics > 0 {
		sum += s.work.Metrics * (n*d*(d+1)/2*perLength + d*d*(d*perEigen+perTurn))
	}
	return sum
}

// paired returns the number of features about whose pairs the stage makes queries, and computes the metric.
func (s stage) paired() float64 {
	switch {
	case s.work.Kinds[query.SquaredFeatures].Queries > 0:
		return float64(s.work.Block)
	case s.features > query.MaxPairs:
		return 0
	}
	return float64(s.features)
}

// pairs reports whether queries of the stage are about pairs of features.
func (s stage) pairs() bool {
	for k := range s.work.Kinds {
		if k.Facts().Pairs || k.Facts().Blocks {
			return true
		}
	}
	return false
}

// estimate returns the likely time and memory of a fit.
func (c costs) estimate() Estimate {
	n := c.rows
	read, time := n*float64(c.cells), float64(perFit)
	if c.chosen {
		time += perChoice
	}
	bytes, garbage, working, slopes := n*c.row, n*c.row*perGarbage, 0., 0.
	for i, s := range c.stages {
		s.keeps = c.row >= wideRow || c.waves > 0 && i == len(c.stages)-1
		time += s.time(n)
		if s.work.Kinds[query.SquaredSlope].Queries > 0 && s.keeps {
			slopes = n * perSlopes
		}
		if s.pairs() {
			d := s.paired()
			// The first term is for the sums of four goroutines, the second for the matrix, its eigenvectors and
			// the metric (the preconditioner).
			working = max(working, 8*d*(d+1)/2*4+40*d*d)
		}
	}
	if c.waves > 0 {
		last := c.stages[len(c.stages)-1]
		last.keeps = true
		passes := last.work.Metrics
		for k := range last.work.Kinds {
			passes += last.passes(k)
		}
		time += c.kept * n * c.waves * perSine
		most := 1.
		if last.pace != nil { // measured passes computed those that a session without limits computes
			most = curator.KeptEffects(n, int(c.waves))
		}
		time += (most - c.kept) * passes * n * c.waves * perSine
		kept := c.kept * n * c.waves * perWave
		bytes, garbage = bytes+kept, garbage+kept // each pass over them leaves garbage
	}
	if kept := n * c.edges * perEdge; kept <= mostEdges {
		bytes, garbage = bytes+kept, garbage+kept*perGarbage
	}
	if c.synthetic > 0 {
		s := c.stages[len(c.stages)-1]
		d, base := float64(s.features), float64(s.features)-c.waves
		time += synthetic.Products(c.synthetic)*perSynthetic + synthetic.Rows*d*d/2*perMultiplied
		// The second moment, its eigenvectors and the metric; the synthetic rows, and sums of their masses.
		working = max(working, 48*d*d+synthetic.Rows*(12*c.synthetic+8*float64(c.cells))+64*base*base)
	}
	if c.waves > 0 {
		working += waveBlocks * min(n, perBlock/c.row) * c.waves * perWave
	}
	if c.memory > 0 {
		bytes = min(bytes, c.memory)
		garbage = min(bytes*perGarbage, c.memory/10+8<<20) // the command limits the heap to this
	}
	bytes += garbage + working + slopes
	if c.typed {
		time += read * perTyped
		pages := min(read*perPage, float64(c.cells)*mostPages)
		if c.memory > 0 {
			pages = min(pages, c.memory/4)
		}
		bytes += pages
	} else {
		time += read * perCell
		if c.zipped {
			time += read * perZipped
		}
		bytes += min(read*perText, mostText)
	}
	return Estimate{Time: duration(time), Memory: bytes + perProgram}
}

// paces caches the times of passes that this process has measured, by what they depend on.
var paces sync.Map

// Measured returns the estimate of the fit's time and memory, with the times of passes over the rows
// measured on this machine. The measurement takes a few hundredths of a second and is made once in
// a process for each kind of query, loss and shape of rows. If it fails, Measured returns p.Estimate.
func (p Planned) Measured(ctx context.Context) Estimate {
	c := p.costs
	c.stages = slices.Clone(c.stages)
	for i, s := range c.stages {
		kinds := slices.Sorted(maps.Keys(s.work.Kinds))
		key := fmt.Sprint(s.loss.Name(), s.features, c.row, s.work.Smoothing, kinds)
		known, ok := paces.Load(key)
		if !ok {
			pace, err := curator.PaceOf(ctx, s.schema, s.reduce, s.loss, s.work.Smoothing, c.rows, kinds...)
			if err != nil {
				return p.Estimate
			}
			known, _ = paces.LoadOrStore(key, pace)
		}
		c.stages[i].pace = known.(curator.Pace)
	}
	return c.estimate()
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
