package report

import (
	"errors"
	"fmt"
	"math"
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
	// Beyond is the number of coefficients that differ from 0 by at least two standard deviations. Counted
	// is the number of all coefficients. Neither number counts intercepts. Both are 0 if no standard
	// deviations are stated.
	Beyond  int `json:"beyond_two_deviations"`
	Counted int `json:"of"`
	// Covariance is the covariance of the noise in the terms' values, in the order of Terms. It is nil unless
	// Noise is "estimated".
	Covariance [][]float64 `json:"covariance,omitempty"`
	// Ratio names the quantity that the exponential of an effect multiplies: "odds" or "rate". It is "" if
	// effects add up.
	Ratio string `json:"ratio,omitempty"`
	// Curves are the curves of numbers and dates. Surfaces are the interactions with a number or date.
	Curves   []Curve   `json:"curves,omitempty"`
	Surfaces []Surface `json:"surfaces,omitempty"`
	// References maps each category to its reference level, with which the other levels are compared.
	References map[string]string `json:"references"`
	// NotInterpretable are hashed columns. They are part of the prediction but have no terms.
	NotInterpretable []string `json:"not_interpretable,omitempty"`
}

// Coefficient is one term of the prediction.
type Coefficient struct {
	Class string `json:"class,omitempty"`
	// Column is the table's column, "(interactions)" for crossed categories, or "" for the intercept.
	Column string `json:"column"`
	Term   string `json:"term"`
	// Reference is the reference level with which a level is compared. It is "" for a slope and for the
	// intercept.
	Reference string `json:"reference,omitempty"`
	// Per is the change of the column that changes the sum by Value, for example "one unit more".
	Per   string  `json:"per,omitempty"`
	Value float64 `json:"value"`
	// Deviation is the standard deviation of the privacy noise in Value, or an upper bound on it if Noise
	// is "bounded". It is nil if Noise is "not stated".
	Deviation *float64 `json:"noise_sd"`
}

// Values of Coefficients.Noise.
const (
	NoiseEstimated = "estimated"
	NoiseBounded   = "bounded"
	NoiseNotStated = "not stated"
)

// Coefficients returns the coefficients of the fit's model. It uses the certificate and the model only. It
// returns an error if the fit wrote no model, or if the model is not a sum of terms.
func (f *Fit) Coefficients() (*Coefficients, error) {
	if f.Model == nil {
		return nil, errors.New("coefficients: the run wrote no model")
	}
	n := f.noise()
	e, ok := f.explained(n)
	if !ok {
		return nil,
			fmt.Errorf("coefficients: the model's loss is %s, a network: its %d weights are no terms of a sum over columns, "+
				"and have no reading by column", f.Model.Loss().Name(), len(f.Model.Weights()))
	}
	unit, _ := f.score()
	c := &Coefficients{Target: f.Model.Schema().Target().Column, Unit: unit, References: map[string]string{},
		NotInterpretable: e.hashed}
	for _, k := range e.list {
		term := Coefficient{Class: k.class, Column: k.column, Term: k.name, Reference: k.against, Per: k.per, Value: k.effect}
		if e.how != unstated {
			sd := k.effectSD
			term.Deviation = &sd
		}
		c.Terms = append(c.Terms, term)
	}
	for _, column := range f.Model.Schema().Columns() {
		if len(column.Categories) > 0 {
			c.References[column.Name] = column.Categories[0]
		}
	}
	c.Ratio = f.ratioOf()
	c.Curves, c.Surfaces = f.curvesOf(e)
	switch e.how {
	case unstated:
		c.Noise, c.Meaning = NoiseNotStated, "How much is noise is not stated: "+e.why+"."+f.additive()
		return c, nil
	case bounded:
		c.Noise = NoiseBounded
	case estimated:
		c.Noise = NoiseEstimated
		for i := range e.list {
			row := make([]float64, len(e.list))
			for j := range row {
				row[j] = e.covariance.At(i, j)
			}
			c.Covariance = append(c.Covariance, row)
		}
	}
	c.Meaning = f.meaning(e, n)
	c.Beyond, c.Counted = e.beyond()
	for _, t := range c.Terms {
		if math.IsInf(*t.Deviation, 0) || math.IsNaN(*t.Deviation) {
			return nil, errors.New("coefficients: the noise is out of all proportion")
		}
	}
	return c, nil
}
