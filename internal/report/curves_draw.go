package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/synthetic"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// mostPictures is the largest number of plots of curves on a page, and the largest number of pictures of
// interactions.
const mostPictures = 30

// curves makes the section of the page with a plot of each curve and of each interaction with a number or
// date. ok is false if the model has neither, or is not a sum of terms over the features.
func (f *Fit) curves(n runNoise) (s Section, ok bool) {
	if len(f.Model.Schema().Hats()) == 0 {
		return s, false
	}
	e, ok := f.explained(n)
	if !ok {
		return s, false
	}
	s = Section{Title: "Curves"}
	curves, surfaces := f.curvesOf(e)
	s.Parts = append(s.Parts, Note(f.aboutCurves(e, slices.ContainsFunc(curves, func(c Curve) bool {
		return c.Centred == OverBounds
	}) ||
		slices.ContainsFunc(surfaces, func(u Surface) bool { return u.Centred == OverBounds }))))
	drawn := 0
	for len(curves) > 0 {
		same := 1
		for same < len(curves) && curves[same].Column == curves[0].Column {
			same++
		}
		if drawn < mostPictures && s.draw(f.picture(curves[:same])) {
			drawn++
		}
		curves = curves[same:]
	}
	drawn = 0
	for _, u := range surfaces {
		if drawn < mostPictures && s.draw(f.heat(u)) {
			drawn++
		}
	}
	return s, true
}

// aboutCurves explains to readers how to read the plots of curves. overBounds says that some curve or
// surface has the mean 0 between the bounds, since no means over the rows were released.
func (f *Fit) aboutCurves(e explanation, overBounds bool) string {
	if fit := f.inference(); fit != nil {
		return fmt.Sprintf("Each curve is the part of the prediction that depends on one column alone, as a difference "+
			"from its value at the middle knot, where the band has no width. Bands are %.4g%% confidence intervals of this "+
			"difference at each point, and contain the sampling error and the privacy noise. Of many points, some intervals "+
			"miss the truth. Bands are for curves with these knots. A curve is not drawn if noise hides one of its knots: "+
			"state fewer knots, or narrower public bounds. Grey stretches hold few rows. Curves describe the model, not causes.", 100*fit.Level)
	}
	text := passage("curves over rows") + " "
	if overBounds {
		text = passage("curves over bounds") + " "
	} else {
		text += "Grey stretches hold few rows, or a number of rows that noise hides. "
	}
	if list := f.plan.Monotone; len(list) > 0 {
		names := vector.Map(list, func(m runrecord.Monotone) string { return m.Column + " (" + m.Way + ")" })
		text += "Curves that were made monotone after the last release have the bands from before: " + listed(names,
			160) + ". "
	}
	if list := f.plan.Ranks; len(list) > 0 {
		text += "The knots of " + listed(list, 160) + " were placed by a noisy release, closer together where there are many rows. "
	}
	text += strings.TrimPrefix(f.additive()+" ", " ")
	switch e.how {
	case unstated:
		text += "How much of a curve is noise is not stated here: " + e.noise.why + "."
	case bounded:
		text += "Bands are at most two standard deviations of the privacy noise either way."
	case estimated:
		text += passage("estimated bands")
	}
	return text + " " + passage("errors beside bands")
}

// axisOf returns what the plots of curves need for their vertical axis: its label, the function
// that converts an effect to the drawn value, and whether the axis is logarithmic.
func (f *Fit) axisOf() (label string, shown func(float64) float64, log bool) {
	unit, _ := f.score()
	target := f.Model.Schema().Target()
	same := func(v float64) float64 { return v }
	switch f.ratioOf() {
	case "odds":
		of := "odds of the class, against the mean of all classes, times"
		if len(target.Classes) == 2 {
			of = "odds of “" + target.Classes[1] + "”, times"
		} else if target.Event != "" {
			of = strings.TrimPrefix(unit, "log-") + ", times"
		}
		return of, math.Exp, true
	case "rate":
		return ratesOf(target) + ", times", math.Exp, true
	}
	return unit, same, false
}

// picture draws the curves of one column: one curve, or one for each class and at most mostSeries of them.
func (f *Fit) picture(list []Curve) Plot {
	label, shown, log := f.axisOf()
	first := list[0]
	p := Plot{
		Title: "The curve of " + first.Column,
		X:     Axis{Label: first.Column}, Y: Axis{Label: label, Log: log},
		References: []Reference{Level("mean of the rows", shown(0))},
	}
	switch first.Centred {
	case OverBounds:
		p.References[0].Name = "mean between bounds"
	case AtReference:
		p.References[0].Name = "as at the middle knot"
	}
	p.X.Min, p.X.Max = first.position(first.Knots[0]), first.position(first.Knots[len(first.Knots)-1])
	switch {
	case first.Date:
		p.X.Label += " (year)"
	case first.Log:
		p.X.Label, p.X.Log = "1 + "+first.Column, true
	}
	if len(list) > mostSeries {
		p.Caption = fmt.Sprintf("The first %d of %d classes are drawn. stillpoint coefficients --json has all.", mostSeries,
			len(list))
		list = list[:mostSeries]
	}
	for _, c := range list {
		p.Series = append(p.Series, c.series(shown)...)
	}
	p.Shaded = thinStretches(first)
	if first.Level > 0 {
		p.Caption += fmt.Sprintf(" Band: %.4g %% confidence intervals of the difference from the middle knot, for each point.",
			100*first.Level)
		return p
	}
	if share, ok := thinned(first); ok {
		p.Caption += fmt.Sprintf(" The grey stretches hold about %.2g %% of the rows.", 100*share)
	}
	if first.Points[0].Low != nil {
		p.Caption += " The band shows privacy noise alone."
	}
	return p
}

// series returns the lines that draw the curve, with their bands. The function shown converts an effect to
// the drawn value. A curve without confidence intervals is one line. A curve with confidence intervals is
// drawn where it has them, and each stretch of such points is a line of its own.
func (c Curve) series(shown func(float64) float64) (list []Series) {
	begun := false
	for _, point := range c.Points {
		if c.Level > 0 && point.Low == nil {
			begun = false
			continue
		}
		if !begun {
			list, begun = append(list, Series{Name: cmp.Or(c.Class, "curve"), Style: Line}), true
		}
		s := &list[len(list)-1]
		s.X, s.Y = append(s.X, c.position(point.X)), append(s.Y, shown(point.Effect))
		if point.Low != nil && point.High != nil {
			s.Low, s.High = append(s.Low, shown(*point.Low)), append(s.High, shown(*point.High))
		}
	}
	return list
}

// position converts a value of the curve's column to a position on the plot's axis. A date in days becomes
// a year with a fraction, and a number x with the transformation log1p becomes 1 + x.
func (c Curve) position(x float64) float64 {
	switch {
	case c.Date:
		return 1970 + x/year
	case c.Log:
		return 1 + x
	}
	return x
}

// thinStretches returns the intervals of the plot's horizontal axis that lie between neighbouring thin
// points. A point is thin if few rows are near it.
func thinStretches(c Curve) (list []Interval) {
	for i, p := range c.Points[1:] {
		from, to := c.position(c.Points[i].X), c.position(p.X)
		switch last := len(list) - 1; {
		case !c.Points[i].Thin || !p.Thin:
		case last >= 0 && list[last].High == from:
			list[last].High = to
		default:
			list = append(list, Interval{from, to})
		}
	}
	return list
}

// thinned returns the share of the rows that lie around the curve's thin knots. A knot is thin if few rows
// are near it. ok is false if no thin knot has a known share.
func thinned(c Curve) (share float64, ok bool) {
	for i := 0; i < len(c.Points); i += betweenKnots {
		if p := c.Points[i]; p.Thin && p.Mass != nil {
			share, ok = share+*p.Mass, true
		}
	}
	return share, ok
}

// heat makes the picture of a surface (the effect of an interaction): a table with one coloured cell for
// each pair of knots or levels.
func (f *Fit) heat(u Surface) Heat {
	label, shown, _ := f.axisOf()
	names := func(a SurfaceAxis) (list []string) {
		for _, level := range a.Levels {
			list = append(list, strings.TrimPrefix(level, a.Column+"="))
		}
		for _, x := range a.Knots {
			if a.Date {
				list = append(list, dataset.ShowDay(math.Floor(x)))
			} else {
				list = append(list, digits(x, 3))
			}
		}
		return list
	}
	h := Heat{
		Title:   u.Axes[0].Column + " and " + u.Axes[1].Column,
		Caption: "The effect of the interaction: " + label + ". Between knots it is linear.",
		X:       u.Axes[1].Column, Y: u.Axes[0].Column, Columns: names(u.Axes[1]), Rows: names(u.Axes[0]),
	}
	if u.Class != "" {
		h.Title += ", “" + u.Class + "”"
	}
	if u.Deviation != nil {
		h.Caption += " Hollow cells are within two standard deviations of the privacy noise of the mean."
	}
	if u.Mass != nil {
		h.Caption += " A dash marks cells with few rows, or so few that noise hides their number."
	}
	for i, row := range u.Effect {
		var cells []HeatCell
		for j, v := range row {
			cells = append(cells, HeatCell{
				Value: v, Text: digits(shown(v), 2), Thin: u.Mass != nil && u.Thin[i][j],
				Faint: u.Deviation != nil && math.Abs(v) < 2*u.Deviation[i][j],
			})
		}
		h.Cells = append(h.Cells, cells)
	}
	return h
}

// confident converts the values of a shape with one number to a Curve with confidence intervals. Each
// point is the difference from the reference knot, which is a contrast of the dim weights of a fit with
// intervals: the formula of such a fit has a column for the hat of each knot but the reference knot. If
// noise hides a knot, the formula has no column for it, and no point has an interval.
func (s shaped) confident(fit *inference.Fit, dim int) Curve {
	c := s.curve()
	reference := s.Axes[0].Reference()
	c.Centred, c.Level, c.Reference = AtReference, fit.Level, &c.Knots[reference]
	contrast, whole := fit.Contrasts(), true
	for i, p := range s.Places {
		whole = whole && (i == reference || fit.Has(p.Feature))
	}
	for n := range c.Points {
		i, share := n/betweenKnots, float64(n%betweenKnots)/betweenKnots
		weights := make([]float64, dim)
		s.add(weights, i, 1-share)
		if share > 0 {
			s.add(weights, i+1, share)
		}
		p := &c.Points[n]
		at := contrast(weights, 0)
		p.Effect, p.Low, p.High = at.Estimate, nil, nil
		switch {
		case !whole:
		case i == reference && share == 0:
			p.Low, p.High = new(float64), new(float64)
		case at.State == inference.Reported:
			p.Low, p.High = &at.Low, &at.High
		}
	}
	return c
}

// add adds factor times the weights' linear function that has the value of place i of the shape.
func (s shaped) add(weights []float64, i int, factor float64) {
	for _, part := range s.Places[i].Parts {
		weights[part.Feature] += factor * part.Factor
	}
}

// mostPairs is the largest number of pairs of columns that the section on interactions draws, and leastPair the
// smallest share of the score's variance of a pair that is drawn.
const (
	mostPairs = 6
	leastPair = .001
)

// population makes the synthetic table of a fit with features of effects again, from the certificate and the model.
// ok is false if the certificate has none.
func (f *Fit) population() (p *synthetic.Population, ok bool) {
	e, found := f.Model.Schema().Effects()
	if !found || f.plan.Effects == nil || f.plan.Effects.Synthetic == nil || f.plan.Effects.Synthetic.Moment == nil ||
		f.plan.Effects.Synthetic.Rows != synthetic.Rows || len(f.Model.Weights()) != f.Model.Schema().Dim() {
		return nil, false
	}
	base := f.Model.Schema().WithoutEffects()
	moment, err := f.plan.Effects.Synthetic.Moment.About0()
	if err != nil {
		return nil, false
	}
	p, err = synthetic.New(base, moment, e.Weights, e.Seed, synthetic.Rows)
	return p, err == nil
}

// interactions makes the section on the interactions that a fit with features of effects found. ok is false for other fits.
func (f *Fit) interactions() (s Section, ok bool) {
	p, ok := f.population()
	if !ok {
		return s, false
	}
	score, err := scoresOf(p, f.Model.Schema(), f.Model.Weights())
	if err != nil {
		return s, false
	}
	unit, t := 1., f.Model.Schema().Target()
	if t.Kind == dataset.Number && !rates(f.Model) {
		unit = t.High/2 - t.Low/2
	}
	bins, redrawn := p.Bins(), f.redrawn(p, score, unit, redraws)
	vector.Scale(score, unit)
	e := p.Explain(score, bins)
	if len(e.Alone) == 0 || math.IsNaN(e.Sum) {
		return s, false
	}
	recheck := "Its second moment differs from the released one by as much as the certificate states."
	if math.Abs(p.Error-f.plan.Effects.Synthetic.Distance) > 1e-9*p.Error {
		recheck = fmt.Sprintf("Its second moment differs from the released one by %s where the certificate states %s.",
			digits(p.Error, 3), digits(f.plan.Effects.Synthetic.Distance, 3))
	}
	s = Section{Title: "Interactions", Parts: []Part{Note(fmt.Sprintf("The shares of the score's variance are computed from the "+
		"model and a synthetic table of %s rows, which is made from the certificate. Its columns have about the released "+
		"distributions and relations. %s A sum of functions of single columns explains %s of the score's variance. The "+
		"rest is interactions. Synthetic rows are no persons, and have no relations of three columns or more. All figures "+
		"contain the noise of the model.%s",
		Number(synthetic.Rows), recheck, ofVariance(e.Sum), f.predictionNoise(redrawn, p.Mass)))}}
	bars := Bars{Title: "The share of the score that each column alone explains", X: Axis{Label: "share of the score's variance"},
		Caption: passage("shares of columns")}
	for j, b := range bins[:min(len(bins), mostBars)] {
		bars.Items = append(bars.Items, Bar{Name: b.Column, Value: e.Alone[j]})
	}
	s.draw(bars)
	for k, pair := range e.Pairs {
		if k >= mostPairs || !(pair.Share >= leastPair) {
			break
		}
		u := Surface{Axes: []SurfaceAxis{{Column: bins[pair.A].Column, Levels: bins[pair.A].Names},
			{Column: bins[pair.B].Column, Levels: bins[pair.B].Names}}, Effect: pair.Effect, Mass: pair.Mass}
		for j, row := range pair.Mass {
			u.Thin = append(u.Thin, make([]bool, len(row)))
			for l, m := range row {
				u.Thin[j][l] = !(m >= thinShare/float64(len(pair.Mass)*len(row)))
			}
		}
		h := f.heat(u)
		label, _, _ := f.axisOf()
		h.Caption = fmt.Sprintf("The mean of the part of the score that no sum of functions of single columns explains: "+
			"%s. It is %s of the score's variance. A dash marks cells with few synthetic rows.", label, ofVariance(pair.Share))
		s.draw(h)
	}
	return s, true
}

// ofVariance writes a share of the variance as a percentage with two digits.
func ofVariance(of float64) string { return strconv.FormatFloat(100*of, 'g', 2, 64) + " %" }
