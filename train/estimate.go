package train

import (
	"fmt"
	"math"
	"time"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Range returns the interval in which the gradient norm was measured to lie, around the predicted norm:
// on the tables of results/metric.md, whose tables with every feature twice are at the low end, and in
// nine of ten of the settings of results/planner.md.
func (p Planned) Range() (low, high float64) {
	return .1 * p.Summary.Predicted, 2.5 * p.Summary.Predicted
}

// Estimate is the approximate cost of a fit, computed from public figures alone.
type Estimate struct {
	// Time is the time on one processor. Passes are divided among processors.
	Time time.Duration `json:"processor_nanoseconds"`
	// Memory is in bytes.
	Memory float64 `json:"memory_bytes"`
}

// Costs in nanoseconds on the machine of results/speed.md, rounded up. Other machines are within a
// factor of a few.
const (
	perCell       = 100 // of a table, to read
	perProduct    = 1   // of a feature and a slope, in a pass
	perPair       = 1.3 // of two features, where none is zero
	perCoordinate = 50  // of noise
	perEigen      = 10  // times the cube of the features, to take a second moment apart
	perRoot       = 20  // megabytes that the program takes with an empty table
)

// rowBytes returns the bytes of a row of the given number of features: a float32 for each feature, or
// for groups a level and codes of two bytes. Reduced rows have other features than the schema and no
// groups.
func rowBytes(s *dataset.Schema, features int) float64 {
	groups := s.Groups()
	if features != s.Dim() || len(groups) == 0 {
		return 4 * float64(features)
	}
	for _, g := range groups {
		features -= g.Width
	}
	return 4*float64(features+1) + 2*float64(len(groups))
}

// estimate returns the estimate for a plan. row is the bytes of a row, cells the number of cells read
// for it.
func estimate(p optimize.Problem, o optimize.Summary, cells int, row, memory float64) Estimate {
	n, d, weights := p.Records, float64(p.Shape.Features), float64(p.Dim())
	pairs := d * (d + 1) / 2
	time := n*float64(cells)*perCell + o.Passes*n*weights*perProduct + float64(o.Steps)*weights*perCoordinate
	bytes := n * (row + 16) // features, a target and what is kept beside it
	if memory > 0 {
		bytes = min(bytes, memory)
	}
	if o.PairPasses > 0 {
		time += o.PairPasses*n*pairs*perPair + pairs*perCoordinate + d*d*d*perEigen
		// Each of a few goroutines holds a sum. The matrix, its eigenvectors and the metric come on
		// top.
		bytes += 8*pairs*4 + 40*d*d
	}
	return Estimate{Time: duration(time), Memory: bytes + perRoot<<20}
}

// duration converts nanoseconds, limited to the range of a time.Duration.
func duration(ns float64) time.Duration { return time.Duration(min(ns, math.MaxInt64/2)) }

// String returns the estimate in a few words, to one or two digits.
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
