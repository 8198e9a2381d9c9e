package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Names of families of models in model.family. A model of family Lines has one weight for each number. A model of
// family Curves adds a curve to each number and date. A model of family Interactions, whose name is effects, adds
// features of effects, by which columns act together, to that of curves. FamilyAuto chooses among the three.
const (
	FamilyAuto   = "auto"
	Lines        = "lines"
	Curves       = "curves"
	Interactions = featuresOfEffects
)

// families are the families that FamilyAuto considers, the simplest first.
var families = []string{Lines, Curves, Interactions}

// Family is the family of a fit's model.
type Family struct {
	runrecord.Family
	// Unasked is true if the rule chose the family and the configuration has no key that asks for it.
	Unasked bool `json:"-"`
	// Simpler says at which effective size a simpler family took the place of the planned one when the base rate was
	// released; it is empty if none did.
	Simpler string `json:"-"`
}

// familyOf returns a family that the configuration or, if chosen is true, the rule has chosen.
func familyOf(name, why string, chosen bool) Family {
	return Family{Family: runrecord.Family{Name: name, Why: why, Chosen: chosen}}
}

// checkFamily returns an error if model.family names no family, or contradicts another key.
func (c *Config) checkFamily() error {
	curved := slices.ContainsFunc(c.Schema.Columns(), bends)
	switch f := c.Model.Family; {
	case f == "" || f == FamilyAuto:
		return nil
	case !slices.Contains(families, f):
		return fmt.Errorf("model.family = %q: must be auto, lines, curves or effects", f)
	case f == Lines && curved:
		return errors.New("model.family = lines: must be curves, effects or auto where the schema has curves")
	case f != Interactions && c.Model.Features != "":
		return fmt.Errorf("model.family = %s: must be effects or auto where model.features is given", f)
	}
	return nil
}

// bends reports whether the schema asks for a curve of the column.
func bends(c dataset.Column) bool { return c.Curve != 0 && c.Curve != dataset.CurveNone }

// mayBend reports whether a family with curves gives the column one.
func mayBend(c dataset.Column) bool {
	return (c.Kind == dataset.Number || c.Kind == dataset.Date) && c.Curve != dataset.CurveNone
}

// family returns the family that the configuration states, in model.family or by a key that only one family has. It
// returns Chosen if the choice is left to the rule.
func (c *Config) family() Family {
	curved := slices.ContainsFunc(c.Schema.Columns(), bends)
	switch f := c.Model.Family; {
	case f != "" && f != FamilyAuto:
		return familyOf(f, "model.family names it", false)
	case c.Model.Features != "":
		return familyOf(Interactions, "model.features names it", false)
	case curved:
		return familyOf(Curves, "the schema has curves", false)
	}
	if why := c.straight(); why != "" {
		return familyOf(Lines, why, false)
	}
	return familyOf(Lines, "no other family is possible", len(c.refused()) < 2)
}

// refused says, by family, why the rule does not take it, whatever the size of the fit.
func (c *Config) refused() map[string]string {
	if why := c.straight(); why != "" {
		return map[string]string{Curves: why, Interactions: why}
	}
	rest := map[string]string{}
	if !slices.ContainsFunc(c.Schema.Columns(), mayBend) {
		rest[Curves] = "no column is a number or a date that may have a curve"
	}
	with := *c
	with.Model.Features = featuresOfEffects
	if _, err := with.finds(); err != nil {
		rest[Interactions] = err.Error()
	}
	return rest
}

// straight says why a fit whose family is left to the rule has lines, whatever its size; it returns "" for any
// other fit.
func (c *Config) straight() string {
	l, err := c.loss()
	_, found := c.Schema.Effects()
	switch {
	case err != nil:
		return "the loss does not suit the target" // the error is reported by the plan
	case found:
		return "the schema already has features of effects"
	case loss.Count(loss.RowLoss(l)) == 0:
		return "a network finds curves and interactions itself"
	case c.Schema.Unit() != (dataset.Unit{}):
		return "the rule of auto was measured for records of one row alone"
	case c.Inference != nil:
		return "intervals are for the slopes of lines (family: curves has intervals of curves)"
	case c.Model.Reduce != "":
		return "projected rows have no columns (model.reduce)"
	case c.Schema.Norm() != 0:
		return "schema.norm shortens rows, and would shorten those with curves more"
	case c.Model.Regularizer != "" || c.Model.Radius != 0 || c.Model.KL != (Model{}).KL:
		return "model.regularizer, radius and kl are stated for the weights of lines"
	case len(c.Train.Settings) > 0 || c.Train.unmeasured() != "":
		return "the rule was measured with the default algorithm alone, and train states another or its settings"
	}
	return ""
}

// as returns the configuration of a fit whose model is of the given family: its schema asks for curves, and
// model.features for features of effects. Columns and features that the configuration states stay as they are.
func (c *Config) as(f Family) (*Config, error) {
	r := *c
	f.Unasked = f.Chosen && c.Model.Family == ""
	r.chosen, r.Model.Family = f, f.Name
	switch {
	case f.Name != Interactions:
		r.Model.Features = ""
	case r.Model.Features == "":
		r.Model.Features = featuresOfEffects
	}
	columns, changed := r.Schema.Columns(), false
	// Without model.family, model.features keeps the meaning that it had before: it adds no curves.
	adds := f.Name != Lines && (f.Chosen || c.Model.Family != "" && c.Model.Family != FamilyAuto)
	for i := range columns {
		k := &columns[i]
		switch {
		case k.Curve == dataset.CurveNone || f.Name == Lines && k.Curve != 0:
			k.Curve, k.Knots, changed = 0, nil, true
		case adds && mayBend(*k) && k.Curve == 0:
			k.Curve, changed = dataset.CurveAuto, true
		}
	}
	if !changed {
		return &r, nil
	}
	s := r.Schema
	var err error
	r.Schema, err = dataset.New(definition(s, columns, s.Target()))
	return &r, err
}

// definition returns the definition of a schema with other columns and another target.
func definition(s *dataset.Schema, columns []dataset.Column, t dataset.Target) dataset.Definition {
	return dataset.Definition{Columns: columns, Target: t, Interactions: s.Interactions(), Where: s.Filter().String(),
		Missing: s.Missing(), Norm: s.Norm(), Unit: s.Unit()}
}

// leastSizes are the least effective sizes M (see Outlook.Size) of a plan from which on FamilyAuto takes a family, by
// the kind of target. They were chosen on half of the tables of lab/results/families.md and confirmed on the others. Curves
// of numbers begin at the size below which fits are refused.
var leastSizes = map[string]map[string]float64{
	Curves:       {"numbers": optimize.SmallSize, "classes": 40, "counts": 175},
	Interactions: {"numbers": 36, "classes": 230, "counts": 470},
}

// rareEffects is the least size M of effects of two classes, however rare one of them is.
const rareEffects = 160

// leastCurvesOfMany is the least size of curves of three or more classes: below it lines were better on the one such
// table.
const leastCurvesOfMany = 100

// leastSize returns the least effective size M of a plan from which on FamilyAuto takes a family for a loss. ratio is that
// of M to the effective size N. It returns 0 for Lines. Effects of two classes need a smaller M where a class is rare,
// but as large an N.
func leastSize(family string, l loss.Loss, ratio float64) float64 {
	switch least := leastSizes[family][kindOf(l)]; {
	case family == Curves && loss.RowLoss(l).Target() == loss.Classes:
		return leastCurvesOfMany
	case family == Interactions && twoClasses(l):
		return max(rareEffects, least*ratio)
	default:
		return least
	}
}

// twoClasses reports whether a loss is of two classes. Their share decides on the family (see simpler).
func twoClasses(l loss.Loss) bool { return loss.RowLoss(l).Target() == loss.Binary && !loss.Counts(l) }

// kindOf returns the kind of target of a loss, by which leastSizes and measuredGains differ.
func kindOf(l loss.Loss) string {
	switch row := loss.RowLoss(l); {
	case loss.Counts(row):
		return "counts"
	case row.Target() == loss.Real:
		return "numbers"
	}
	return "classes"
}

// choose returns the configuration of the family that the rule takes for a number of records, with the reason. The
// rule takes the richest family that the configuration permits, whose plan is not refused, and whose effective size is
// at least leastSize. It uses public numbers alone.
func (c *Config) choose(budget account.Budget, records int) (*Config, error) {
	if c.chosen.Name != "" {
		return c, nil
	}
	f := c.family()
	if !f.Chosen {
		return c.as(f)
	}
	l, err := c.loss()
	if err != nil {
		return nil, err
	}
	refused, passed := c.refused(), ""
	for _, name := range slices.Backward(families[1:]) {
		why := refused[name]
		if why == "" {
			r, p, no, err := c.try(name, budget, records)
			ratio, _ := p.curvature()
			size, least := p.signal(), leastSize(name, l, ratio)
			switch {
			case err != nil:
				return nil, err
			case no != "":
				why = no
			case size < least:
				why = fmt.Sprintf("effective size %.3g is below %.3g", size, least)
			default:
				r.chosen.Why = fmt.Sprintf("effective size %.3g is at least %.3g%s%s", size, least, passed,
					r.conditions(name, p, l, func(of string) Planned { _, q, _, _ := c.try(of, budget, records); return q }))
				return r, nil
			}
		}
		passed += fmt.Sprintf("; not %s: %s", name, why)
	}
	f.Why = strings.TrimPrefix(passed, "; ")
	return c.as(f)
}

// simpler returns the configuration of the next simpler family, which a fit of two classes takes at no cost if its size N,
// times ratio at the released base rate, is too small; nil if the family stays. Ranks are released later (BeginsEarly).
func (c *Config) simpler(N, ratio float64, l loss.Loss) (*Config, error) {
	f, size, least := c.chosen, N*ratio, leastSize(c.chosen.Name, l, ratio)
	if !f.Chosen || f.Name == Lines || !twoClasses(l) || size >= least {
		return nil, nil
	}
	r := *c
	r.Model.Features, r.chosen.Name = "", Curves
	if f.Name == Curves || len(c.curves) == 0 {
		columns := c.Schema.Columns()
		for i := range columns { // indicators of missing numbers stay
			columns[i].Curve, columns[i].Knots = 0, nil
		}
		var err error
		if r.Schema, err = dataset.New(definition(c.Schema, columns, c.Schema.Target())); err != nil {
			return nil, err
		}
		r.chosen.Name, r.curves, r.Train.Ranks = Lines, nil, Off
	}
	r.Model.Family = r.chosen.Name
	r.chosen.Simpler = fmt.Sprintf("not %s: effective size %.3g at the released base rate is below %.3g", f.Name, size, least)
	r.chosen.Why = r.chosen.Simpler + "; before that release: " + f.Why
	return &r, nil
}

// BeginsEarly reports whether the base rate is released before the ranks of curves, and not after them: of two classes,
// since their released share may take the place of curves (see simpler), and then no budget is spent on ranks.
func (p Planned) BeginsEarly(l loss.Loss) bool {
	return p.Base != nil && p.Ranks != nil && twoClasses(l)
}

// Straightens reports whether the plan is for rows without the curves of the schema now (see simpler).
func (p Planned) Straightens(now *dataset.Schema) bool { return p.Schema.Scale() != now.Scale() }

// Kept returns the configuration without the choice of simpler, for audits: their tables are smaller than the fit's.
func (c *Config) Kept() *Config {
	k := *c
	k.chosen.Chosen = false
	return &k
}

// conditions says for which released shares of a class a fit takes a simpler family than name, the family of c, whose plan
// is p (see simpler). of plans another family.
func (c *Config) conditions(name string, p Planned, l loss.Loss, of func(family string) Planned) string {
	if p.Base == nil || !twoClasses(l) {
		return ""
	}
	// Only of a loss whose base rate has a curvature do shares of classes lessen the size.
	even, ok := p.Base.AtShares([]float64{.5, .5})
	switch {
	case !ok || !(even.Curvature > 0):
		return ""
	case even.Sums[0] != even.Sums[1]: // the shares below would be others for each class
		return "; a simpler family may follow from the released shares of the weighted classes"
	}
	below := func(family string, ratio float64) string {
		if ratio >= 1 {
			return ""
		}
		return fmt.Sprintf("; %s if a class has a released share below %.2g%%", family, 50*(1-math.Sqrt(1-ratio)))
	}
	curved := func(p Planned) float64 { return leastSize(Curves, l, 1) / p.Summary.Effective }
	if name == Curves {
		return below(Lines, curved(p))
	}
	effects := rareEffects / p.Summary.Effective
	if len(c.curves) == 0 {
		return below(Lines, effects)
	}
	return below(Curves, effects) + below(Lines, curved(of(Curves)))
}

// try returns the configuration and the plan of a family for a number of records, or why its plan is refused. An
// error is one of the configuration itself.
func (c *Config) try(name string, budget account.Budget, records int) (*Config, Planned, string, error) {
	f := familyOf(name, "", true)
	if own := c.family(); own.Name == name && !own.Chosen {
		f = own
	}
	r, err := c.as(f)
	if err == nil {
		r, err = r.fixed(budget, records)
	}
	if err != nil {
		return nil, Planned{}, "", err
	}
	if name == Curves && !slices.ContainsFunc(r.Schema.Hats(), dataset.Hats.Curve) {
		return r, Planned{}, "the table is too small for a curve at this budget", nil
	}
	_, p, _, err := r.planFor(context.Background(), budget, float64(records), 0)
	if err == nil {
		err = p.Useless()
	}
	if err != nil {
		return r, p, err.Error(), nil
	}
	return r, p, "", nil
}

// FamilyPlan is one of the families in a plan, with the outlook of its fit.
type FamilyPlan struct {
	Family string `json:"family"`
	// Refused says why the fit cannot have this family; it is empty if it can. The other fields are then zero.
	Refused string `json:"refused,omitempty"`
	// Features is the number of a row's features, and Size the effective size M of the plan (see Outlook.Size).
	Features int     `json:"features,omitempty"`
	Size     float64 `json:"size,omitempty"`
	// Gain is the median, on benchmarks of this kind of target and range of sizes, of the improvement on the best
	// constant, as a share of the largest that the three families have with little noise. It is 0 if there was no such
	// benchmark.
	Gain float64 `json:"gain,omitempty"`
	// Records is about the number of records from which on the rule takes the family at this budget.
	Records float64   `json:"records_needed,omitempty"`
	Takes   *Estimate `json:"takes,omitempty"`
}

// compared returns the families that a fit may have, in one order, with their outlook. c is the configuration before
// a family was chosen.
func (c *Config) compared(budget account.Budget, records int) []FamilyPlan {
	l, err := c.loss()
	if err != nil {
		return nil
	}
	refused := c.refused()
	delete(refused, c.family().Name)
	var list []FamilyPlan
	for _, name := range families {
		k := FamilyPlan{Family: name, Refused: refused[name]}
		if k.Refused == "" {
			_, p, no, err := c.try(name, budget, records)
			switch {
			case err != nil:
				k.Refused = err.Error()
			case no != "":
				k.Refused = no
			default:
				k.Features, k.Size, k.Takes = p.Features, p.signal(), &p.Estimate
				k.Records = roundUp(max(1, float64(records)*leastSize(name, l, k.Size/p.Summary.Effective)/k.Size))
				k.Gain = measuredGain(name, l, k.Size)
			}
		}
		list = append(list, k)
	}
	return list
}

// gain is the median gain in benchmarks whose effective sizes are at least size, and below that of the entry before.
type gain struct{ size, median float64 }

// measuredGains are the gains of fits by the kind of target and the family (lab/results/families.md).
var measuredGains = map[string]map[string][]gain{
	"numbers": {
		Lines:        {{800, 0.88}, {400, 0.87}, {200, 0.84}, {100, 0.82}, {60, 0.79}, {25, 0.43}},
		Curves:       {{800, 0.95}, {400, 0.95}, {200, 0.94}, {100, 0.91}, {60, 0.86}, {25, 0.80}},
		Interactions: {{400, 1.00}, {200, 1.00}, {100, 1.00}, {60, 0.97}, {25, 0.94}},
	},
	"classes": {
		Lines:        {{800, 0.89}, {400, 0.94}, {200, 0.89}, {100, 0.83}, {60, 0.81}, {25, 0.49}},
		Curves:       {{800, 0.98}, {400, 0.97}, {200, 0.96}, {100, 0.87}, {60, 0.84}, {25, 0.59}},
		Interactions: {{400, 1.00}, {200, 0.99}, {100, 0.98}, {60, 0.92}, {25, 0.86}},
	},
	"counts": {
		Lines:        {{800, 0.78}, {400, 0.67}, {200, 0.76}, {100, 0.51}, {60, 0.46}, {25, 0.01}},
		Curves:       {{800, 0.99}, {400, 0.94}, {200, 0.85}, {100, 0.77}, {60, 0.47}, {25, 0.26}},
		Interactions: {{800, 1.00}, {200, 0.89}, {100, 0.74}, {60, 0.61}, {25, 0.30}},
	},
}

// measuredGain returns the field Gain of FamilyPlan.
func measuredGain(name string, l loss.Loss, size float64) float64 {
	for _, g := range measuredGains[kindOf(l)][name] {
		if size >= g.size {
			return g.median
		}
	}
	return 0
}
