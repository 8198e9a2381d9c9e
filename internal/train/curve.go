package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/describe"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/table"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// resolved returns the configuration with a final schema and projection. It replaces "family: auto" by a family, and
// the setting "curve: auto" of a column by a number of knots (the curve is linear between knots). It leaves out
// interactions for which the table is too small. It replaces the setting "reduce: jl(auto)" by a number of features.
// All these choices follow from the number of records and the budget, which are public. If the configuration has none
// of these settings, the records are not counted. If the choices were made before, resolved returns c itself.
func (c *Config) resolved(ctx context.Context) (*Config, error) {
	if c.settled {
		return c, nil
	}
	f := c.family()
	if f.Chosen && c.countable() != nil {
		f.Chosen, f.Why = false, "the number of records is not known before the table is read (privacy.records states it)"
	}
	if !f.Chosen {
		var err error
		if c, err = c.as(f); err != nil {
			return nil, err
		}
		if _, byRule := c.reducesByRule(); !c.Schema.Adapts() && !byRule {
			c.settled = true
			return c, nil
		}
	}
	budget, err := c.budget()
	if err != nil {
		return nil, err
	}
	if err := c.countable(); err != nil {
		return nil, err
	}
	n, err := c.records(ctx, budget)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted while counting the rows of %s: nothing was charged: %w", c.DataPath(), err)
	}
	if err != nil {
		return nil, err
	}
	r, err := c.For(n)
	if err == nil {
		r.counted = n
	}
	return r, err
}

// countable returns an error if the configuration does not state the number of records and the fit cannot count them
// before it reads the table, because the table is a stream or because workers read it.
func (c *Config) countable() error {
	switch {
	case c.Privacy.Records != 0:
		return nil
	case c.Shards != nil:
		return errors.New("privacy.records: must be given: the knots of curves and jl(auto) follow from it, and the " +
			"rows of shards are not counted beforehand")
	case c.Reader != nil || slices.Contains(c.Data, table.Standard):
		return errors.New("privacy.records: must be given: the knots of curves and jl(auto) follow from it, and a stream " +
			"is read only once")
	}
	return nil
}

// For returns the configuration with the family and the schema that a fit of a table with this public number of
// records uses: the curves have their numbers of knots, and curves and interactions for which the table is too small
// are left out. The setting "reduce: jl(auto)" becomes jl with a number of features, or empty if rows keep
// all features. Plan and Fit use the returned configuration's family, schema and reduce unchanged. For does not open
// the table. If the choices were made before, For returns c itself.
func (c *Config) For(records int) (*Config, error) {
	if c.settled {
		return c, nil
	}
	budget, err := c.budget()
	if err != nil {
		return nil, err
	}
	r, err := c.choose(budget, records)
	if err != nil {
		return nil, err
	}
	return r.fixed(budget, records)
}

// fixed is For for a configuration whose family is known.
func (c *Config) fixed(budget account.Budget, records int) (*Config, error) {
	if c.settled {
		return c, nil
	}
	schema, choices, err := c.knots(sizeOf(budget, float64(records)))
	if err != nil {
		return nil, err
	}
	r := *c
	r.Schema, r.adapted, r.settled, r.curves = schema, adaptedTo(choices, records), true, choices.Curves
	reduce, whole, err := r.reduced(budget, float64(records))
	if err != nil {
		return nil, err
	}
	r.Model.Reduce, r.adapted = reduce, append(r.adapted, whole...)
	return &r, nil
}

// sizeOf returns the size that determines the numbers of knots of the schema's curves. The size is n mu for n
// records under replace-one. It is 2 n mu under add-or-remove, since the noise is then half as large.
func sizeOf(b account.Budget, records float64) float64 {
	size := records * b.Mu()
	if b.Relation() == account.AddOrRemove {
		size *= 2
	}
	return size
}

// adaptedTo returns the warnings about curves and interactions that were left out of the schema because the
// table has too few records. One warning names all columns that stay linear, and one names all interactions
// that are left out. It returns nil if nothing was left out.
func adaptedTo(r dataset.Resolved, records int) (list []Warning) {
	many := func(of int, one, more string) string {
		if of == 1 {
			return one
		}
		return more
	}
	if len(r.Linear) > 0 {
		list = append(list, warn(WarnCurves, "%s %s linear: with %d records at this budget the least curve would be more "+
			"noise than shape", strings.Join(r.Linear, ", "), many(len(r.Linear), "stays", "stay"), records)...)
	}
	if len(r.Without) > 0 {
		pairs := vector.Map(r.Without, func(p dataset.Interaction) string { return p[0] + " and " + p[1] })
		list = append(list, warn(WarnPairs, "the %s of %s %s left out: with %d records at this budget %s would be more "+
			"noise than shape", many(len(pairs), "interaction", "interactions"), strings.Join(pairs, ", of "),
			many(len(pairs), "is", "are"), records, many(len(pairs), "it", "they"))...)
	}
	return list
}

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
	case share == 0 && (DefaultRanks+c.Train.Measure+max(c.Train.Compare, SmallCompare) >= 1 ||
		!(sizeOf(p.Budget, p.Records) >= RankedSize*c.rankNoise())):
		return nil, p, nil
	}
	if why != "" {
		if share > 0 {
			return nil, p, errors.New("train.ranks: is not possible: " + why)
		}
		return nil, p, nil
	}
	r := &Ranks{Columns: slices.Clone(c.curves), Charge: cmp.Or(share, DefaultRanks) * p.Budget.Charge()}
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
	return c.refined(r, f, h, schema, err)
}

// refined returns the configuration and the head of a fit with another schema, which it writes to the log. If err is not
// nil, it returns both as they are, and err.
func (c *Config) refined(r *recorder, f *Fitted, h Header, schema *dataset.Schema, err error) (*Config, Header, error) {
	if err == nil {
		err = r.write(Line{Refined: schema})
	}
	if err != nil {
		return c, h, err
	}
	f.Schema, h.Schema = schema, schema
	return c.of(schema), h, nil
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
	mean, _, err := describe.MeanRow(ctx, o, fine, l, r.Charge, refine)
	if err != nil {
		return nil, err
	}
	schema, err := base.Ranked(r.Columns, mean)
	if err == nil {
		err = refine(schema)
	}
	return schema, err
}

// monotone returns weights with which the score is monotone in each column that the schema declares monotone: it never
// falls with the column, or never rises, as declared. It also returns, for each changed column, the greatest change of
// a row's margin. monotone uses released numbers only: the weights w and law. A curve's values at its knots become the
// nearest monotone values in weighted mean square. The weight of a knot is the released share of the rows near it, from
// law.Moment. If no shares were released, all knots have equal weights. If no column is monotone, or w does not have
// one weight for each feature, monotone returns w unchanged.
func (h Header) monotone(w []float64, law *runrecord.Trace) ([]float64, []runrecord.Monotone) {
	if !h.Schema.Monotonic() || len(w) != h.Schema.Dim() {
		return w, nil
	}
	var moment *runrecord.Moment
	if law != nil {
		moment = law.Moment
	}
	w, list := h.Schema.ProjectMonotone(w, moment.Means(h.Schema.Dim()))
	var said []runrecord.Monotone
	for _, p := range list {
		said = append(said, runrecord.Monotone{Column: p.Column, Way: p.Way.String(), Moved: runrecord.Short(p.Moved)})
	}
	return w, said
}
