package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
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

// countable returns an error if the configuration does not state the number of records and the fit
// cannot count them before it reads the table, because the table is a stream or because workers
// read it.
func (c *Config) countable() error {
	switch {
	case c.Privacy.Records != 0:
		return nil
	case c.Shards != nil:
		return errors.New("privacy.records: must be given: the knots of curves and jl(auto) follow from it, and the " +
			"shards that hold the table are not counted")
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
	r.Schema, r.adapted, r.settled = schema, adaptedTo(choices, records), true
	r.curves = slices.Concat(c.curves, choices.Curves)
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
		list = append(list, Warning{Code: WarnCurves,
			Text: fmt.Sprintf("%s %s linear: with %d records at this budget the least curve would be more noise than shape",
				strings.Join(r.Linear, ", "), many(len(r.Linear), "stays", "stay"), records)})
	}
	if len(r.Without) > 0 {
		var pairs []string
		for _, p := range r.Without {
			pairs = append(pairs, p[0]+" and "+p[1])
		}
		list = append(list, Warning{Code: WarnPairs,
			Text: fmt.Sprintf("the %s of %s %s left out: with %d records at this budget %s would be more noise than shape",
				many(len(pairs), "interaction", "interactions"), strings.Join(pairs, ", of "), many(len(pairs), "is", "are"),
				records, many(len(pairs), "it", "they"))})
	}
	return list
}
