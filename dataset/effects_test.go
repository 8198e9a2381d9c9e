package dataset

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/internal/effects"
)

// anyEffects draws effects of a schema.
func anyEffects(t *rapid.T, s *Schema) Effects {
	coin := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	e := Effects{Seed: coin.Uint64(), Features: 2 + 2*coin.IntN(4), Weight: .1 + 5*coin.Float64(), Scale: .1 + coin.Float64()}
	for range coin.IntN(4) {
		e.Deviations = append(e.Deviations, .5+4*coin.Float64())
	}
	for range s.Ranges() {
		e.Centres = append(e.Centres, coin.NormFloat64())
	}
	for range s.Dim() {
		e.Weights = append(e.Weights, coin.NormFloat64())
	}
	return e
}

// anyCells draws the cells of a row: values of the schema, missing ones, bounds and numbers between.
func anyCells(t *rapid.T, s *Schema) (cells []string) {
	for _, name := range fullHeader(s) {
		c, listed := s.column(name)
		choices := []string{"", "x", "-1e9", "1e9", "0.5"}
		if !listed {
			choices = append(slices.Clone(s.target.Classes), "0.5")
			if len(s.target.Classes) == 0 {
				choices = choices[len(choices)-1:]
			} else {
				choices = choices[:len(choices)-1]
			}
		}
		choices = append(choices, c.Categories...)
		choices = append(choices, c.Values...)
		switch c.Kind {
		case Number:
			choices = append(choices, showFloat(c.Low), showFloat(c.High), showFloat(c.Low+(c.High-c.Low)*.3))
		case Date:
			if c.Layout == "" {
				choices = append(choices, ShowDay(c.Low), ShowDay(c.High), ShowDay(math.Floor(c.Low+(c.High-c.Low)*.3)))
			}
		}
		cells = append(cells, rapid.SampledFrom(choices).Draw(t, "cell"))
	}
	return cells
}

// TestEffectsSlowly compares rows with features of effects with their definition: the row of the schema without
// them times the quotient of the Scales, and before the intercept the cosines and sines of the frequencies times
// the effects, with package math. Their norm must be exactly the Weight before the row is divided, that of the row at
// most NormBound. A schema read from JSON must give the same bits.
func TestEffectsSlowly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := anySchema().Draw(t, "schema")
		e := anyEffects(t, base)
		s, err := base.WithEffects(e)
		if err != nil {
			t.Fatal(err)
		}
		scale := math.Sqrt(base.Scale()*base.Scale() + e.Weight*e.Weight)
		if got := s.Scale(); !(math.Abs(got-scale) <= 1e-12*scale) || s.Dim() != base.Dim()+e.Features || s.WithoutEffects() != base {
			t.Fatalf("scale %v: want %v; %d features", got, scale, s.Dim())
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again := new(Schema)
		if err := json.Unmarshal(text, again); err != nil {
			t.Fatal(err)
		}
		if second, err := json.Marshal(again); err != nil || string(second) != string(text) {
			t.Fatalf("written again: %s, %v: want %s", second, err, text)
		}
		if err := s.Refines(base); err != nil {
			t.Fatalf("a schema with effects must be able to take the place of the schema without: %v", err)
		}
		header := fullHeader(base)
		plain, with := mustBindRapid(t, base, header), mustBindRapid(t, s, header)
		for range 3 {
			cells := anyCells(t, base)
			x, got := make([]float32, plain.Dim()), make([]float32, with.Dim())
			y, ok := plain.Encode(x, cells)
			if y2, ok2 := with.Encode(got, cells); y2 != y || ok2 != ok {
				t.Fatalf("target %v, %v: want %v, %v", y2, ok2, y, ok)
			}
			read := make([]float32, with.Dim())
			mustBindRapid(t, again, header).Encode(read, cells)
			if !slices.Equal(read, got) {
				t.Fatalf("read from JSON: %v, want %v", read, got)
			}
			if !ok {
				if slices.ContainsFunc(got, func(v float32) bool { return v != 0 }) {
					t.Fatalf("a malformed row has features: %v", got)
				}
				continue
			}
			if !slices.Equal(s.Extended(x), got) {
				t.Fatalf("extended %v: want %v", s.Extended(x), got)
			}
			omega := effects.Frequencies(e.Seed, e.Features/2, len(e.Centres), e.Deviations...)
			last, norm, all := base.Dim()-1, 0., 0.
			for j, v := range got {
				all += float64(v) * float64(v)
				want := 0.
				switch k := j - last; {
				case j < last:
					want = float64(x[j]) * base.Scale() / scale
				case k == e.Features:
					want = float64(x[last]) * base.Scale() / scale
				default:
					angle, at := 0., 0
					for i, r := range base.Ranges() {
						effect := -e.Centres[i]
						for range r.Width {
							effect += e.Weights[at] * float64(x[at])
							at++
						}
						angle += omega[k/2*len(e.Centres)+i] * effect / e.Scale
					}
					wave := math.Cos(angle)
					if k%2 == 1 {
						wave = math.Sin(angle)
					}
					want = e.Weight / scale / math.Sqrt(float64(e.Features/2)) * wave
					norm += float64(v) * float64(v)
				}
				if !(math.Abs(float64(v)-want) <= 1e-6) {
					t.Fatalf("feature %s is %v: want %v", s.Features()[j], v, want)
				}
			}
			if !(math.Abs(math.Sqrt(norm)*scale-e.Weight) <= 1e-6*e.Weight) || math.Sqrt(all) > NormBound {
				t.Fatalf("features of effects of norm %v: want %v; row of norm %v", math.Sqrt(norm)*scale, e.Weight, math.Sqrt(all))
			}
			numbers := make([]float32, plain.base()-plain.grouped)
			coded := slices.Clone(numbers)
			a, b := make([]uint32, plain.groups), make([]uint32, plain.groups)
			level, _, _ := plain.EncodeCoded(numbers, a, cells)
			if same, _, _ := with.EncodeCoded(coded, b, cells); same != level || !slices.Equal(coded, numbers) || !slices.Equal(a, b) {
				t.Fatal("the coded form must be that of the schema without effects")
			}
		}
	})
}

func mustBindRapid(t *rapid.T, s *Schema, header []string) *Map {
	m, err := s.Bind(header)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRowsWithEffectsAreShort: rows whose norm is the largest possible must stay within NormBound for the smallest and
// the largest weights, although all their features are rounded twice.
func TestRowsWithEffectsAreShort(t *testing.T) {
	for k := 1; k < 300; k++ {
		def := Definition{Target: Target{Column: "y", Kind: Number, High: 1}}
		var cells []string
		for i := range k {
			def.Columns = append(def.Columns, Column{Name: strings.Repeat("c", i+1), Kind: Number, High: 1})
			cells = append(cells, "1")
		}
		base, err := New(def)
		if err != nil {
			t.Fatal(err)
		}
		for _, weight := range []float64{leastWeight, 2, mostWeight} {
			s, err := base.WithEffects(Effects{Features: 2 * k, Weight: weight, Scale: 1, Centres: make([]float64, k),
				Weights: slices.Repeat([]float64{1}, k+1)})
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float32, s.Dim())
			m := mustBind(t, s, fullHeader(s)...)
			m.Encode(x, append([]string{"1"}, cells...))
			if square, _ := squaredNorm(x).Float64(); square > NormBound*NormBound || square < 1-1e-5 {
				t.Errorf("%d numbers, weight %v: squared norm %.9g", k, weight, square)
			}
		}
	}
}

// TestEffectsAreRefused: effects whose numbers are out of range or missing are errors that name them. A schema has
// effects once, none with a monotone column, and no YAML form with them.
func TestEffectsAreRefused(t *testing.T) {
	s := mustLoad(t, people)
	fine := func() Effects {
		return Effects{Seed: 1, Features: 4, Weight: 2, Scale: 1, Centres: make([]float64, 3), Weights: make([]float64, s.Dim())}
	}
	with, err := s.WithEffects(fine())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := with.WithEffects(fine()); err == nil || !strings.Contains(err.Error(), "once") {
		t.Errorf("twice: %v", err)
	}
	if _, err := with.MarshalYAML(); err == nil || !strings.Contains(err.Error(), "no written form") {
		t.Errorf("YAML: %v", err)
	}
	for field, change := range map[string]func(*Effects){
		"features":         func(e *Effects) { e.Features = 3 },
		"effects.features": func(e *Effects) { e.Features = 0 },
		"from 2 to 2000":   func(e *Effects) { e.Features = 2002 },
		"weight":           func(e *Effects) { e.Weight = 0 },
		"effects.weight = 9000: must be from 0.1 to 100": func(e *Effects) { e.Weight = 9000 },
		"effects.weight":     func(e *Effects) { e.Weight = math.NaN() },
		"scale":              func(e *Effects) { e.Scale = 0 },
		"effects.scale":      func(e *Effects) { e.Scale = math.Inf(1) },
		"deviations":         func(e *Effects) { e.Deviations = make([]float64, 17) },
		"effects.deviations": func(e *Effects) { e.Deviations = []float64{2, math.NaN()} },
		"centres":            func(e *Effects) { e.Centres = e.Centres[1:] },
		"weights = 1 number": func(e *Effects) { e.Weights = e.Weights[:1] },
		"and centres must":   func(e *Effects) { e.Weights[0] = math.NaN() },
		"must be finite":     func(e *Effects) { e.Centres[0] = 1e200 },
	} {
		e := fine()
		change(&e)
		if _, err := s.WithEffects(e); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	rising := mustLoad(t, strings.Replace(people, "number: [0, 10]", "number: [0, 10], monotone: up", 1))
	if _, err := rising.WithEffects(fine()); err == nil || !strings.Contains(err.Error(), "monotone") {
		t.Errorf("monotone: %v", err)
	}
	named := mustLoad(t, strings.Replace(people, "age:", "(cos 1):", 1))
	if _, err := named.WithEffects(fine()); err == nil || !strings.Contains(err.Error(), "second feature") {
		t.Errorf("a column of the name: %v", err)
	}
	for _, text := range []string{`{"seed":"x"}`, `{"seed":"1","more":2}`, `[]`} {
		if err := new(Effects).UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("read %s", text)
		}
	}
}
