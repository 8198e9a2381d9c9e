package coverage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/model"
)

// Term is the record of one term over all fits of a design.
type Term struct {
	Name       string
	Prevalence float64
	Truth      float64
	// Reported is the number of fits that state an interval of the term, or the noise in it. Held is the number of
	// these whose interval, or two deviations of the noise about the value, hold the truth.
	Reported, Held int
	// Stated are the standard errors or deviations of the noise, where they are stated.
	Stated []float64
	all    []float64 // values less the truth of all fits; of fits with intervals, of those with one
}

// Coverage returns the share of the stated intervals that hold the truth; NaN if none is stated.
func (t *Term) Coverage() float64 { return float64(t.Held) / float64(t.Reported) }

// OverSpread returns the median of the stated deviations over the standard deviation of the values; NaN if none is
// stated.
func (t *Term) OverSpread() float64 {
	if len(t.Stated) == 0 {
		return math.NaN()
	}
	list := slices.Clone(t.Stated)
	slices.Sort(list)
	return list[len(list)/2] / spread(t.all)
}

// spread returns the standard deviation of the values, from their mean absolute deviation about the median, which
// one fit in a hundred far away does not carry.
func spread(values []float64) float64 {
	list := slices.Clone(values)
	slices.Sort(list)
	middle, sum := list[len(list)/2], 0.
	for _, v := range list {
		sum += math.Abs(v-middle) / float64(len(list))
	}
	return sum * math.Sqrt(math.Pi/2)
}

// Judged is a design with the record of its terms.
type Judged struct {
	Design
	Fits  int
	Terms []*Term
	short map[string]map[string]float64 // coefficients of the population in shorter formulas, by the terms left out
}

// Run makes fits of the design and judges their terms. Fits with intervals are of a new table each, whose truth is
// the population's in the formula of the fit. Fits without intervals are of one table, whose truth is its fit without privacy.
func (d Design) Run(ctx context.Context, fits int) (*Judged, error) {
	rows := d.rows(1, max(d.Records, 50_000))
	out := &Judged{Design: d, Fits: fits}
	truth, prevalence := d.Truth, d.prevalence(rows)
	if !d.Intervals {
		rows = d.rows(2, d.Records)
		truth = d.fit(rows)
	} else if truth == nil {
		truth = d.fit(d.rows(1, 400_000))
	}
	at := map[string]*Term{}
	for name, v := range truth {
		of := name[strings.LastIndex(name, ": ")+1:]
		of = strings.TrimSpace(of)
		if of == "intercept" || len(d.Asked) > 0 && !slices.Contains(d.Asked, of) {
			continue
		}
		at[name] = &Term{Name: name, Truth: v, Prevalence: prevalence[of]}
		out.Terms = append(out.Terms, at[name])
	}
	slices.SortFunc(out.Terms, func(a, b *Term) int { return strings.Compare(a.Name, b.Name) })
	for i := range fits {
		if d.Intervals || d.Tables {
			rows = d.rows(uint64(1000+i), d.Records)
		}
		if d.Tables {
			for name, v := range d.fit(rows) {
				if t := at[name]; t != nil {
					t.Truth = v
				}
			}
		}
		s, err := d.spec(rows)
		if err != nil {
			return nil, err
		}
		r, err := stillpoint.Fit(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
		if d.Intervals {
			err = out.intervals(r, at)
		} else {
			err = out.noise(ctx, r, at)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	return out, nil
}

// intervals records the intervals of a fit.
func (j *Judged) intervals(r *stillpoint.Result, at map[string]*Term) error {
	c, err := r.Model.Coefficients()
	if err != nil {
		return err
	}
	found := 0
	truths, err := j.truths(r.Model)
	if err != nil {
		return err
	}
	for _, k := range c.List {
		t := at[k.Term]
		if t == nil {
			continue
		}
		found++
		truth := t.Truth
		if truths != nil {
			truth = truths[k.Term]
		}
		if k.State != "reported" {
			continue
		}
		t.Reported++
		t.Stated, t.all = append(t.Stated, k.Error), append(t.all, k.Estimate-truth)
		if k.Low <= truth && truth <= k.High {
			t.Held++
		}
	}
	if found != len(at) {
		return errors.New("a term of the design is no term of the fit")
	}
	return nil
}

// truths returns the coefficients of the population in the formula of a fit, over the rows that do not leave it; nil if the
// formula is the whole one or the design has the coefficients of the asked one.
func (j *Judged) truths(m *model.Model) (map[string]float64, error) {
	f, err := inference.Parse(m.Inference())
	if err != nil || j.AskedTruth {
		return nil, err
	}
	of, names := j.Design, m.Schema().Features()
	of.without, of.gone = nil, nil
	for _, feature := range f.Dropped {
		name := names[feature%len(names)]
		switch {
		case !slices.Contains(of.terms(), name) || slices.Contains(of.without, name) || slices.Contains(of.gone, name):
		case slices.ContainsFunc(f.Gone, func(g inference.Gone) bool { return g.Feature == feature }):
			of.gone = append(of.gone, name)
		default:
			of.without = append(of.without, name)
		}
	}
	if of.without == nil && of.gone == nil {
		return nil, nil
	}
	key := strings.Join(of.without, "\n") + "\n\n" + strings.Join(of.gone, "\n")
	if j.short[key] == nil {
		if j.short == nil {
			j.short = map[string]map[string]float64{}
		}
		j.short[key] = of.fit(of.rows(1, 100_000))
	}
	return j.short[key], nil
}

// noise records the stated noise of a fit.
func (j *Judged) noise(ctx context.Context, r *stillpoint.Result, at map[string]*Term) error {
	cert, err := r.Certificate.Bytes()
	if err != nil {
		return err
	}
	text, err := r.Model.Bytes()
	if err != nil {
		return err
	}
	f, err := report.NewFit(ctx, cert, text)
	if err != nil {
		return err
	}
	c, err := f.Coefficients()
	if err != nil {
		return err
	}
	found := 0
	for _, k := range c.Terms {
		name := k.Term
		if k.Class != "" {
			name = k.Class + ": " + k.Term
		}
		t := at[name]
		if t == nil {
			continue
		}
		found++
		t.all = append(t.all, *k.Value-t.Truth)
		if k.Deviation == nil {
			continue
		}
		t.Reported++
		t.Stated = append(t.Stated, *k.Deviation)
		if math.Abs(*k.Value-t.Truth) <= 2**k.Deviation {
			t.Held++
		}
	}
	if found != len(at) {
		return errors.New("a term of the design is no term of the fit")
	}
	return nil
}

// Head and Rows make a table of Markdown with a row for each term.
const Head = "| design | term | prevalence or spread | truth | fits | stated | coverage | stated over spread |\n" +
	"|---|---|---|---|---|---|---|---|\n"

// Rows returns the rows of the table of the design.
func (j *Judged) Rows() string {
	var b strings.Builder
	for _, t := range j.Terms {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d | %d | %s | %s |\n", j.Name, t.Name, shown(t.Prevalence),
			shown(t.Truth), j.Fits, t.Reported, shown(t.Coverage()), shown(t.OverSpread()))
	}
	return b.String()
}
