package report

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/model"
)

// Coefficients are the coefficients of a linear model in the table's units, with their privacy noise.
type Coefficients struct {
	// Target is the name of the predicted column. Unit is the unit of a coefficient's value in words.
	Target string `json:"target"`
	Unit   string `json:"unit"`
	// Terms are the terms of the sum from which the prediction is computed, in the order of the columns,
	// with the intercept last. With more than two classes, each term has one entry for each class.
	Terms []Coefficient `json:"terms"`
	// Noise says what is known about the standard deviations: "estimated", "bounded" or "not stated".
	Noise string `json:"noise"`
	// Meaning explains the standard deviations, or says why none are stated. It says so if the terms are those of the
	// additive part of a model that also has features of effects.
	Meaning string `json:"meaning"`
	// Beyond is the number of coefficients that differ from 0 by at least two standard deviations. Counted is the
	// number of all coefficients. Neither number counts intercepts. Both are 0 if no standard deviations are stated.
	Beyond  int `json:"beyond_two_deviations"`
	Counted int `json:"of"`
	// Covariance is the covariance of the noise in the terms' values and of the expected rest of their ways, in the order
	// of Terms, if Noise is "estimated"; entries of terms without Deviation are nil. If Noise is "intervals", it is
	// that of the errors of the estimates, by sampling and noise, with nil for terms without an interval. Otherwise it is
	// nil.
	Covariance [][]*float64 `json:"covariance,omitempty"`
	// Ratio names the quantity that the exponential of an effect multiplies: "odds" or "rate". It is "" if
	// effects add up.
	Ratio string `json:"ratio,omitempty"`
	// Thresholds are those between ordered classes: the log-odds of the second class or a higher one are the sum of the
	// terms minus the first threshold, 0, and so on. It is nil for other models.
	Thresholds []float64 `json:"thresholds,omitempty"`
	// Curves are the curves of numbers and dates. Surfaces are the interactions with a number or date.
	Curves   []Curve   `json:"curves,omitempty"`
	Surfaces []Surface `json:"surfaces,omitempty"`
	// References maps each category to its reference level, with which the other levels are compared.
	References map[string]string `json:"references"`
	// NotInterpretable are hashed columns. They are part of the prediction but have no terms.
	NotInterpretable []string `json:"not_interpretable,omitempty"`
	// Intervals are the coefficients with their confidence intervals, in the order of Terms; nil for a fit without.
	Intervals *model.Coefficients `json:"intervals,omitempty"`
	// HazardRatios are those of a column whose hazard ratios change between intervals of the time.
	HazardRatios []HazardRatio `json:"hazard_ratios,omitempty"`
}

// Coefficient is one term of the prediction.
type Coefficient struct {
	Class string `json:"class,omitempty"`
	// Column is the table's column, "(interactions)" for crossed categories, or "" for the intercept.
	Column string `json:"column"`
	Term   string `json:"term"`
	// Reference is the reference level with which a level is compared. It is "" for a slope and for the intercept.
	Reference string `json:"reference,omitempty"`
	// Per is the change of the column that changes the sum by Value, for example "one unit more".
	Per string `json:"per,omitempty"`
	// Value is nil if the term is not in the formula of a fit with intervals.
	Value *float64 `json:"value"`
	// Deviation is the standard deviation of the privacy noise in Value, or an upper bound on it if Noise
	// is "bounded". If Noise is "estimated", it is the root mean square of the noise and of the expected rest of the way
	// to the fit without privacy. It is nil if State is "not stated" or "not arrived".
	Deviation *float64 `json:"noise_sd"`
	// Steps is the standard deviation of the noise alone. It is nil unless State is "part of the way".
	Steps *float64 `json:"steps_sd,omitempty"`
	// State is "stated" if Deviation is, and hardly more than the noise, or "part of the way" if Deviation counts a rest
	// that is not small beside the noise. It is "not stated", or "not arrived" if the steps hardly moved the term. For a
	// fit with intervals it is the state of the interval. Reason says why neither Deviation nor an interval is stated.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Share is the share of a change of the minimum that reached Value; of a difference, the share of the side of which
	// less did. It is nil unless Noise is "estimated".
	Share *float64 `json:"share,omitempty"`
}

// Noise returns the noise of the coefficient as displays show it: "0.45 (noise 0.2, 90% of the way)", "not arrived" or
// "-".
func (c Coefficient) Noise() string {
	switch {
	case c.State == stateNotArrived:
		return c.State
	case c.Deviation == nil:
		return "-"
	case c.Steps != nil:
		return fmt.Sprintf("%.2g (noise %.2g, %.0f%% of the way)", *c.Deviation, *c.Steps, 100**c.Share)
	}
	return fmt.Sprintf("%.2g", *c.Deviation)
}

// States of a Coefficient of a fit without intervals.
const (
	stateStated     = "stated"
	stateNotStated  = "not stated"
	statePart       = "part of the way"
	stateNotArrived = "not arrived"
)

// Values of Coefficients.Noise.
const (
	NoiseEstimated = "estimated"
	NoiseBounded   = "bounded"
	NoiseNotStated = "not stated"
	NoiseIntervals = "intervals" // the fit has confidence intervals, which count the noise
)

// Coefficients returns the coefficients of the fit's model. It uses the certificate and the model only. It
// returns an error if the fit wrote no model, or if the model is not a sum of terms.
func (f *Fit) Coefficients() (*Coefficients, error) {
	c, err := f.coefficientList()
	if err == nil {
		c.HazardRatios = f.changing(c)
	}
	return c, err
}

func (f *Fit) coefficientList() (*Coefficients, error) {
	if f.Model == nil {
		return nil, errors.New("coefficients: the run wrote no model")
	}
	e, ok := f.explained(f.noise())
	if !ok {
		return nil, fmt.Errorf("coefficients: the model's loss is %s, a network, whose %d weights "+
			"are not the terms of a sum over columns", f.Model.Loss().Name(), len(f.Model.Weights()))
	}
	unit, _ := f.score()
	c := &Coefficients{Target: f.Model.Schema().Target().Column, Unit: unit, References: map[string]string{},
		NotInterpretable: e.hashed}
	c.Terms = vector.Map(e.list, func(k coefficient) Coefficient { return k.term(e.how) })
	for _, column := range f.Model.Schema().Columns() {
		if len(column.Categories) > 0 {
			c.References[column.Name] = column.Categories[0]
		}
	}
	c.Ratio, c.Thresholds = f.ratioOf(), f.thresholds()
	c.Curves, c.Surfaces = f.curvesOf(e)
	if f.Model.Inference() != nil {
		return c, f.withIntervals(c, e)
	}
	switch e.how {
	case unstated:
		c.Noise, c.Meaning = NoiseNotStated, "How much is noise is not stated: "+e.why+"."+f.additive()
		return c, nil
	case bounded:
		c.Noise = NoiseBounded
	case estimated:
		c.Noise = NoiseEstimated
		for i := range e.list {
			row := make([]*float64, len(e.list))
			for j := range row {
				if !e.list[i].hidden() && !e.list[j].hidden() {
					row[j] = new(e.covariance.At(i, j))
				}
			}
			c.Covariance = append(c.Covariance, row)
		}
	}
	c.Meaning = f.meaning(e)
	c.Beyond, c.Counted = e.beyond()
	for _, t := range c.Terms {
		if t.Deviation != nil && (math.IsInf(*t.Deviation, 0) || math.IsNaN(*t.Deviation)) {
			return nil, errors.New("coefficients: the noise is too large to compute with")
		}
	}
	return c, nil
}

// term returns the coefficient as programs and displays get it.
func (c coefficient) term(how certainty) Coefficient {
	t := Coefficient{Class: c.class, Column: c.column, Term: c.name, Reference: c.against, Per: c.per, Value: &c.effect,
		State: stateNotStated, Share: c.share}
	switch {
	case how == unstated:
	case c.late:
		t.State, t.Reason = stateNotArrived, arrivalReason
	case c.clipped:
		t.Reason = clippedReason
	case c.part():
		t.Deviation, t.Steps, t.State = &c.effectSD, &c.noiseSD, statePart
	default:
		t.Deviation, t.State = &c.effectSD, stateStated
	}
	return t
}

// clippedReason says why the noise of a coefficient that the clip moves is not stated.
const clippedReason = "the clip of gradients may move it by more than 1.5 deviations"

// withIntervals replaces the noise of the terms by their confidence intervals.
func (f *Fit) withIntervals(c *Coefficients, e explanation) (err error) {
	if c.Intervals, err = f.Model.Coefficients(); err != nil {
		return err
	}
	if len(c.Intervals.List) != len(c.Terms) {
		return errors.New("coefficients: the intervals are of other terms")
	}
	c.Noise, c.Meaning = NoiseIntervals, c.Intervals.Meaning+states(c.Intervals)
	var at []int
	var contrasts [][]float64
	for i, k := range c.Intervals.List {
		t := &c.Terms[i]
		t.State, t.Reason = string(k.State), k.Reason
		if k.Reference != "" { // with the levels that count as it
			t.Reference, t.Per = k.Reference, "against "+k.Reference
		}
		switch k.State {
		case inference.Absent:
			t.Value = nil
		case inference.Reported:
			weights := make([]float64, len(f.Model.Weights()))
			for _, p := range e.list[i].parts {
				weights[p.Feature] += p.Factor
			}
			at, contrasts = append(at, i), append(contrasts, weights)
		}
		c.Covariance = append(c.Covariance, make([]*float64, len(c.Terms)))
	}
	for i, row := range f.inference().Covariances(contrasts) {
		for j, v := range row {
			c.Covariance[at[i]][at[j]] = &v
		}
	}
	return nil
}

// HazardRatio is the hazard ratio of a level of a column whose hazard ratios change, against the first level, in one
// interval of the time. Low and High are the ends of its confidence interval, of sampling and noise; nil where the error
// of the level's coefficient is not stated.
type HazardRatio struct {
	Term      string   `json:"term"`
	Reference string   `json:"reference"`
	From      float64  `json:"from"`
	To        float64  `json:"to"`
	Ratio     float64  `json:"hazard_ratio"`
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	state     string   // of the level's interval, in a fit with intervals
}

// changing returns the hazard ratios of the changing column; nil if there is none. A level's coefficient is the logarithm
// of the ratio of its whole hazard, and its hazards say how that is divided among the intervals. The standard error of the
// logarithm of a ratio counts those of both hazards, and the noise of the coefficient, or its standard error if there are
// intervals: the error is then rather too large.
func (f *Fit) changing(c *Coefficients) (list []HazardRatio) {
	t := f.Model.Schema().Target()
	k := len(t.Cuts)
	if _, effects := f.Model.Schema().Effects(); effects { // the coefficients are a part of the score alone
		return nil
	}
	if t.Changing == "" || len(t.HazardErrors) != len(t.Hazards) || len(t.Hazards) == 0 {
		return nil
	}
	level := map[string]int{}
	for _, column := range f.Model.Schema().Columns() {
		for i, v := range column.Categories {
			if column.Name == t.Changing {
				level[column.Name+"="+v] = i
			}
		}
	}
	share, quantile := .95, 0.
	if c.Intervals != nil {
		share = c.Intervals.Level
	}
	quantile = math.Sqrt2 * math.Erfinv(share)
	for i, term := range c.Terms {
		at := level[term.Term] * k
		if at == 0 || term.Value == nil {
			continue
		}
		deviation, state := term.Deviation, ""
		if c.Intervals != nil {
			of := c.Intervals.List[i]
			if deviation, state = nil, string(of.State); of.State == inference.Reported {
				deviation = &of.Error
			}
		}
		from := 0.
		for j, to := range t.Cuts {
			log := *term.Value + math.Log(t.Hazards[at+j]/t.Hazards[j])
			r := HazardRatio{Term: term.Term, Reference: term.Reference, From: from, To: to, Ratio: math.Exp(log),
				state: state}
			if deviation != nil {
				e := quantile * math.Sqrt(*deviation**deviation+t.HazardErrors[at+j]*t.HazardErrors[at+j]+
					t.HazardErrors[j]*t.HazardErrors[j])
				r.Low, r.High = new(math.Exp(log-e)), new(math.Exp(log+e))
			}
			list, from = append(list, r), to
		}
	}
	return list
}

// between returns the interval of a ratio as text.
func (r HazardRatio) between() string {
	if r.Low == nil && r.state != "" {
		return r.state
	}
	if r.Low == nil {
		return "not stated: inference asks for it"
	}
	return fmt.Sprintf("%.3g to %.3g", *r.Low, *r.High)
}

const ofChanging = "The intervals of hazard ratios treat the other coefficients as known."

// HazardText returns hazard ratios by interval as a table of text; "" if there are none.
func HazardText(list []HazardRatio) string {
	if len(list) == 0 {
		return ""
	}
	return "\n" + hazardTable(list, func(x float64) string { return fmt.Sprintf("%.3g", x) }).text() + ofChanging + "\n"
}

// hazardTable returns hazard ratios by interval as a table, with the ratios as show writes them.
func hazardTable(list []HazardRatio, show func(float64) string) Table {
	t := Table{Title: "Hazard ratios by interval", Caption: ofChanging, Columns: []Column{{Name: "term"}, {Name: "against"},
		{Name: "time"}, {Name: "hazard ratio", Number: true}, {Name: "interval"}}}
	for _, r := range list {
		t.Rows = append(t.Rows, Row{Cells: []string{r.Term, r.Reference, exact(r.From) + " to " + exact(r.To), show(r.Ratio),
			r.between()}})
	}
	return t
}
