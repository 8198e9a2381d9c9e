package train

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// DefaultRanks is the default share of the budget for the ranks by which curves get their knots. RankedSize is the
// size n mu, over the schema's divisor S of rows (dataset.Schema.Scale), from which on a fit asks for them without
// being told to: below it the noise of a bin's mass is near the mass (lab/results/accuracy.md).
const (
	DefaultRanks = .05
	RankedSize   = 1000
)

// Ranks is the plan of a release by which the curves of columns get their knots: the mean row of the table under a
// schema with 65 knots a curve (dataset.Schema.Fine). The knots follow from the released mean row alone
// (dataset.Schema.Ranked).
type Ranks struct {
	// Columns are the columns whose numbers of knots were left to the rule (curve: auto).
	Columns []string
	// Charge is what the release is charged, in units of mu^2.
	Charge float64
}

// ranking returns the plan of the release of ranks, and the problem with the budget that remains. The plan is nil if
// the configuration turns it off, if no curve's knots are left to the rule, if the fit is too small for the release
// to help, if rows are reduced, since they store no numbers, and if the fit states intervals: they are of
// coefficients of a formula that is fixed before the table is read.
func (c *Config) ranking(p optimize.Problem, l loss.Loss) (*Ranks, optimize.Problem, error) {
	share, why := c.Train.Ranks, ""
	switch {
	case share == Off:
		return nil, p, nil
	case len(c.curves) == 0:
		why = "no column has a curve whose number of knots is auto, or the table is too small for one"
	case c.Model.Reduce != "":
		why = "rows are reduced"
	case c.Inference != nil:
		why = "intervals are of a formula that is fixed before the table is read"
	case !c.fits(l):
		why = "rows with 65 knots a curve have too many features"
	case share > 0 && share+c.Train.Measure+max(c.Train.Compare, SmallCompare) >= 1:
		why = "with the shares of the measurement and the comparison it leaves no budget to train"
	case share == 0 && DefaultRanks+c.Train.Measure+max(c.Train.Compare, SmallCompare) >= 1:
		return nil, p, nil
	case share == 0 && !(sizeOf(p.Budget, p.Records) >= RankedSize*c.rankNoise()):
		return nil, p, nil
	}
	if why != "" {
		if share > 0 {
			return nil, p, errors.New("train.ranks: is not possible: " + why)
		}
		return nil, p, nil
	}
	if share == 0 {
		share = DefaultRanks
	}
	r := &Ranks{Columns: slices.Clone(c.curves), Charge: share * p.Budget.Charge()}
	return r, c.without(p, r.Charge), nil
}

// fits reports whether a session takes records with 65 knots in each curve whose knots follow from ranks.
func (c *Config) fits(l loss.Loss) bool {
	const most = 1 << 24 // float32s of a record
	fine, err := c.Schema.Fine(c.curves)
	if err != nil || fine.Dim() > most/max(c.Schema.Unit().Rows, 1)-3 {
		return false
	}
	_, err = loss.Check(l, loss.RecordFeatures(l, fine.Dim()))
	return err == nil
}

// rankNoise returns the factor between the noise of a row's coordinate and of a bin's mass: the divisor of rows
// and, if a record has several rows, an upper bound of the divisor of a record.
func (c *Config) rankNoise() float64 {
	noise := c.Schema.Scale()
	if unit := c.Schema.Unit(); unit.Rows > 0 {
		noise *= 2 * math.Sqrt(float64(unit.Rows))
	}
	return noise
}

// ranked returns the configuration and the head of a fit whose curves have their knots by released ranks, which it
// writes to the log.
func (c *Config) ranked(ctx context.Context, r *recorder, f *Fitted, h Header, l loss.Loss) (*Config, Header, error) {
	schema, err := f.Ranks.Run(ctx, r, c.Schema, l, r.session.Refine)
	if err == nil {
		err = r.refined(schema)
	}
	if err != nil {
		return c, h, err
	}
	ranked := *c
	ranked.Schema, f.Schema, h.Schema = schema, schema, schema
	return &ranked, h, nil
}

// Run releases the ranks by which the curves get their knots, and returns the schema with these knots. base is the
// schema of the rows in the oracle, and l the loss of its records. Run calls refine with each schema of the rows
// about which the oracle is to answer from then on: that with 65 knots a curve, about which Run makes its query, and
// the one that it returns.
func (r Ranks) Run(ctx context.Context, o optimize.Oracle, base *dataset.Schema, l loss.Loss,
	refine func(*dataset.Schema) error) (*dataset.Schema, error) {
	fine, err := base.Fine(r.Columns)
	if err != nil {
		return nil, err
	}
	if err := refine(fine); err != nil {
		return nil, err
	}
	q, err := query.New(r.Charge, query.RowMeanOf(o.All(), loss.RecordFeatures(l, fine.Dim())))
	if err != nil {
		return nil, err
	}
	released, err := o.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	schema, err := base.Ranked(r.Columns, rowOf(released.Mean, fine.Dim(), l))
	if err != nil {
		return nil, err
	}
	if err := refine(schema); err != nil {
		return nil, err
	}
	return schema, nil
}

// rowOf returns the sum of the rows of a record, which the record has one after the other. A record that is one
// row is returned unchanged.
func rowOf(record []float64, features int, l loss.Loss) []float64 {
	units, several := l.(loss.Units)
	if !several {
		return record
	}
	sum := make([]float64, features)
	for i := range units.Rows() {
		for j := range sum {
			sum[j] += record[i*features+j]
		}
	}
	return sum
}
