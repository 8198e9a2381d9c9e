package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/internal/effects"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Effects add features of effects to a schema: with them a linear score can express interactions that no
// one has named. The effect of a column in a row is the column's part of the score of an earlier additive model,
// and so is the effect of each interaction that the schema lists. The features are cosines and sines of random linear
// combinations of a row's effects (package internal/effects). They are a function of the row and of the public
// numbers below, and precede the intercept.
//
// Before a row is divided by [Schema.Scale], its features of effects have the norm Weight, whatever the row is.
// The square of Scale is the square of the schema's Scale without effects, plus Weight^2.
type Effects struct {
	// Seed is the public seed from which the frequencies of the features are drawn.
	Seed uint64
	// Features is the number of features, an even number.
	Features int
	// Weight is the norm of a row's features of effects, before the row is divided by Scale.
	Weight float64
	// Centres are subtracted from the effects, and Scale divides them. There is a centre for each of
	// [Schema.Ranges].
	Centres []float64
	Scale   float64
	// Deviations are the standard deviations of the frequencies, per unit of an effect divided by Scale: of m
	// deviations each belongs to about a share 1/m of the features. None means 2.
	Deviations []float64
	// Weights are the weights of the earlier model, one for each feature of the schema without effects. The
	// weight of the intercept is in no effect.
	Weights []float64
}

// Limits of the values in Effects. With them no sum of effects or angles overflows.
const (
	leastWeight, mostWeight       = .1, 100
	leastDeviation, mostDeviation = 1e-3, 1e3
	mostDeviations                = 16
	mostEffect                    = 1e100
)

// FeatureRange is the range of features of a column, or of an interaction, whose effect is one number of a row.
// Columns are the names of the column or of the interaction's two columns.
type FeatureRange struct {
	Columns      []string
	First, Width int
}

// Ranges returns the range of features of each column that has features, then of each interaction. Together they
// are all features but those of effects and the intercept.
func (s *Schema) Ranges() (list []FeatureRange) {
	for i, c := range s.columns {
		if c.width() > 0 {
			list = append(list, FeatureRange{[]string{c.Name}, s.first[i], c.width()})
		}
	}
	for i, pair := range s.interactions {
		list = append(list, FeatureRange{pair[:], s.pairAt(i), s.crossed(pair).width()})
	}
	return list
}

// effectFeatures are the features of effects of a schema: interactions found from effects.
type effectFeatures struct {
	Effects
	base  *Schema // the schema without effects
	basis *effects.Basis
	// of is the index, among the schema's Ranges, of the range of each feature but the intercept.
	of []int
	// ratio multiplies a row of the schema without effects. It is the quotient of the two Scales, times shorter.
	ratio float64
}

// shorter makes room for the second rounding of a row's features to float32 (see extend).
const shorter = 1 - 0x1p-22

// WithEffects returns the schema with features of effects. It returns an error if the schema has effects already
// or a monotone column, or if a number in e is out of range or missing.
func (s *Schema) WithEffects(e Effects) (*Schema, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	if s.found != nil {
		return nil, &fieldError{"effects", "", "must be given once"}
	}
	e = e.clone()
	ranges := s.Ranges()
	if err := e.validate(s, len(ranges)); err != nil {
		return nil, err
	}
	with := *s
	base := s.Scale()
	scale := math.Sqrt(float64(base*base) + float64(e.Weight*e.Weight))
	f := &effectFeatures{Effects: e, base: s, ratio: base / scale * shorter,
		basis: effects.New(e.Seed, e.Features, e.Centres, e.Scale, e.Weight/scale/math.Sqrt(float64(e.Features/2)),
			e.Deviations...)}
	for i, r := range ranges {
		f.of = append(f.of, slices.Repeat([]int{i}, r.Width)...)
	}
	with.found = f
	last := len(s.features) - 1
	with.features = slices.Clone(s.features[:last])
	for i := range e.Features / 2 {
		for _, wave := range []string{"cos", "sin"} {
			name := "(" + wave + " " + strconv.Itoa(i+1) + ")"
			if slices.Contains(s.features, name) {
				return nil, &fieldError{"effects", "", "makes a second feature named " + strconv.Quote(name)}
			}
			with.features = append(with.features, name)
		}
	}
	with.features = append(with.features, intercept)
	return &with, nil
}

func (e *Effects) validate(s *Schema, ranges int) error {
	field := func(name string) string { return "effects." + name }
	switch {
	case s.Monotonic():
		return &fieldError{"effects", "", "must be left out where a column is monotone: features of effects are not"}
	case e.Features < effects.Least || e.Features > effects.Most || e.Features%2 != 0:
		return &fieldError{field("features"), strconv.Itoa(e.Features), "must be an even number from " +
			strconv.Itoa(effects.Least) + " to " + strconv.Itoa(effects.Most)}
	case !(e.Weight >= leastWeight && e.Weight <= mostWeight):
		return &fieldError{field("weight"), showFloat(e.Weight), "must be from " + showFloat(leastWeight) + " to " +
			showFloat(mostWeight)}
	case !(e.Scale >= 1/mostEffect && e.Scale <= mostEffect):
		return &fieldError{field("scale"), showFloat(e.Scale), "must be > 0 and in the range of effects"}
	case len(e.Deviations) > mostDeviations:
		return &fieldError{field("deviations"), strconv.Itoa(len(e.Deviations)) + " numbers",
			"must be at most " + strconv.Itoa(mostDeviations)}
	case len(e.Centres) != ranges:
		return &fieldError{field("centres"), strconv.Itoa(len(e.Centres)) + " numbers",
			"must have one for each column and interaction, " + strconv.Itoa(ranges)}
	case len(e.Weights) != s.Dim():
		return &fieldError{field("weights"), strconv.Itoa(len(e.Weights)) + " numbers",
			"must have one for each feature, " + strconv.Itoa(s.Dim())}
	}
	for _, v := range e.Deviations {
		if !(v >= leastDeviation && v <= mostDeviation) {
			return &fieldError{field("deviations"), showFloat(v), "must be from " + showFloat(leastDeviation) + " to " +
				showFloat(mostDeviation)}
		}
	}
	if !(vector.Sum(slices.Concat(e.Centres, e.Weights), math.Abs) <= mostEffect) {
		return &fieldError{field("weights"), "", "and centres must be finite and in the range of effects"}
	}
	return nil
}

func (e Effects) clone() Effects {
	e.Centres, e.Weights, e.Deviations = slices.Clone(e.Centres), slices.Clone(e.Weights), slices.Clone(e.Deviations)
	return e
}

// Effects returns the schema's effects. ok is false if it has none.
func (s *Schema) Effects() (e Effects, ok bool) {
	if s.found == nil {
		return Effects{}, false
	}
	e = s.found.Effects
	return e.clone(), true
}

// WithoutEffects returns the schema without its features of effects.
func (s *Schema) WithoutEffects() *Schema {
	if s.found == nil {
		return s
	}
	return s.found.base
}

// EffectFactors returns the amplitude of the cosines and sines that are features of effects, and the ratio by which
// a row of the schema without effects is multiplied. They are 0 and 1 if the schema has no effects.
func (s *Schema) EffectFactors() (amplitude, ratio float64) {
	if s.found == nil {
		return 0, 1
	}
	return s.found.basis.Amplitude(), s.found.ratio
}

// extend computes the features of effects of a row and multiplies its other features by the ratio. x[:base] holds
// the row of the schema without effects, for base features; the rest is overwritten.
//
// The norm of the result is at most NormBound. Let r be the quotient of the two Scales. The row of the schema without
// effects has a norm below 1 + 2^-23, so the row times the ratio, rounded again, has a norm below r (1 - 2^-22) (1 +
// 2^-23) (1 + 2^-24) < r. The features of effects have a norm of at most sqrt(1 - r^2) (1 + 2^-24) (1 + 2^-48).
func (f *effectFeatures) extend(x []float32, base int) {
	sums := make([]float64, f.basis.Columns())
	for j, v := range x[:base-1] {
		sums[f.of[j]] += float64(f.Weights[j] * float64(v))
	}
	one := x[base-1]
	for j, v := range x[:base-1] {
		x[j] = float32(float64(v) * f.ratio)
	}
	f.basis.Fill(x[base-1:len(x)-1], f.basis.Features(), sums)
	x[len(x)-1] = float32(float64(one) * f.ratio)
}

// Extended returns the row of the schema that has the row x without features of effects. It returns x if the schema
// has none. x must have a feature for each feature of WithoutEffects.
func (s *Schema) Extended(x []float32) []float32 {
	if s.found == nil {
		return x
	}
	row := make([]float32, s.Dim())
	copy(row, x)
	s.found.extend(row, len(x))
	return row
}

// rawEffects is the JSON form of Effects. The seed is written in hexadecimal, since not every reader of JSON keeps
// the bits of a large number.
type rawEffects struct {
	Seed       string    `json:"seed"`
	Features   int       `json:"features"`
	Weight     float64   `json:"weight"`
	Scale      float64   `json:"scale"`
	Deviations []float64 `json:"deviations,omitempty"`
	Centres    []float64 `json:"centres"`
	Weights    []float64 `json:"weights"`
}

// MarshalJSON implements json.Marshaler.
func (e Effects) MarshalJSON() ([]byte, error) {
	return json.Marshal(rawEffects{strconv.FormatUint(e.Seed, 16), e.Features, e.Weight, e.Scale, e.Deviations, e.Centres,
		e.Weights})
}

// UnmarshalJSON implements json.Unmarshaler. Unknown members are errors.
func (e *Effects) UnmarshalJSON(text []byte) error {
	var r rawEffects
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return fmt.Errorf("effects: %w", err)
	}
	seed, err := strconv.ParseUint(r.Seed, 16, 64)
	if err != nil {
		return &fieldError{"effects.seed", strconv.Quote(r.Seed), "must be a number of 64 bits in hexadecimal"}
	}
	*e = Effects{seed, r.Features, r.Weight, r.Centres, r.Scale, r.Deviations, r.Weights}
	return nil
}
