package coverage

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"github.com/stillpoint-dp/stillpoint"
	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// tested is a population in which a category g and a number z may matter. The joint test of each is judged: its level
// where size is 0, its power elsewhere.
type tested struct {
	name    string
	records int
	epsilon float64
	loss    string
	levels  []float64 // the shares of g's levels
	size    float64   // the effects of g's levels after the first: size, -size, size and so on; of z: size z, or size cos(pi z) of a curve
	knots   int       // of z's curve; 0 for a line
	along   float64   // how far x depends on g and z
}

var jointDesigns = []tested{
	{"null, 5 levels", 10_000, 1, "logistic", []float64{.2, .2, .2, .2, .2}, 0, 0, .5},
	{"null, levels of 2%", 10_000, 2, "logistic", []float64{.9, .06, .02, .02}, 0, 0, .5},
	{"null, 3000 rows", 3_000, 4, "logistic", []float64{.4, .3, .3}, 0, 0, .5},
	{"null, counts", 10_000, 1, "poisson(0.5)", []float64{.5, .25, .25}, 0, 0, .5},
	{"null, numbers", 10_000, 1, "squared(1)", []float64{.5, .25, .25}, 0, 0, .5},
	{"null, curve", 20_000, 4, "logistic", []float64{.5, .5}, 0, 4, .5},
	{"null, curve, 40,000 rows", 40_000, 2, "logistic", []float64{.5, .5}, 0, 4, .5},
	{"effects of .15", 10_000, 1, "logistic", []float64{.4, .3, .3}, .15, 0, .5},
	{"effects of .3", 10_000, 1, "logistic", []float64{.4, .3, .3}, .3, 0, .5},
	{"effects of .1, curve", 20_000, 4, "logistic", []float64{.4, .3, .3}, .1, 4, .5},
}

type testedRow struct {
	x, z, y float64
	g       int
}

func (d tested) draw(r *rand.Rand) (out testedRow) {
	u := r.Float64()
	for u > d.levels[out.g] && out.g < len(d.levels)-1 {
		u -= d.levels[out.g]
		out.g++
	}
	out.z = 2*r.Float64() - 1
	out.x = min(max(.4*r.NormFloat64()+d.along*(out.z/2+float64(out.g%2)-.5), -1), 1)
	along := out.z
	if d.knots > 0 {
		along = math.Cos(math.Pi * out.z)
	}
	score := -.3 + .8*out.x + d.size*along
	if out.g > 0 {
		score += d.size * float64(2*(out.g%2)-1)
	}
	switch {
	case d.loss == "logistic":
		if r.Float64() < 1/(1+math.Exp(-score)) {
			out.y = 1
		}
	case d.loss[0] == 'p':
		for at := r.ExpFloat64(); at < math.Exp(score) && out.y < 8; at += r.ExpFloat64() {
			out.y++
		}
	default:
		out.y = 5 + score + r.NormFloat64()
	}
	return out
}

// spec returns the fit of rows, in which z has a curve.
func (d tested) spec(rows []testedRow) (stillpoint.Spec, error) {
	var names []string
	for i := range d.levels {
		names = append(names, strconv.Itoa(i))
	}
	l, err := loss.Parse(d.loss)
	if err != nil {
		return stillpoint.Spec{}, err
	}
	target, y := dataset.Target{Column: "y", Kind: dataset.Number, High: 10}, stillpoint.Number("y",
		func(r testedRow) float64 { return r.y })
	if d.loss == "logistic" {
		target = dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"0", "1"}}
		y = stillpoint.Text("y", func(r testedRow) string { return strconv.Itoa(int(r.y)) })
	}
	schema, err := dataset.New(dataset.Definition{Target: target, Columns: []dataset.Column{
		{Name: "x", Kind: dataset.Number, Low: -1, High: 1},
		{Name: "z", Kind: dataset.Number, Low: -1, High: 1, Curve: d.knots, Indicator: d.knots > 0},
		{Name: "g", Kind: dataset.Category, Categories: names},
	}})
	if err != nil {
		return stillpoint.Spec{}, err
	}
	family := "lines"
	if d.knots > 0 {
		family = "curves"
	}
	return stillpoint.Spec{Table: stillpoint.Rows(rows, stillpoint.Number("x", func(r testedRow) float64 { return r.x }),
		stillpoint.Number("z", func(r testedRow) float64 { return r.z }),
		stillpoint.Text("g", func(r testedRow) string { return names[r.g] }), y), Schema: schema, Loss: l, Family: family,
		Anyway: true, Inference: &stillpoint.Inference{Level: level},
		Budget: stillpoint.Budget{Epsilon: d.epsilon, Delta: 1e-6, Relation: account.ReplaceOne}}, nil
}

// plain returns the p-values of the same tests without privacy, of logistic regression, by column.
func (d tested) plain(s *dataset.Schema, rows []testedRow) (map[string]float64, error) {
	var cells [][]string
	for _, r := range rows {
		one := []string{strconv.Itoa(r.g), strconv.Itoa(int(r.y))}
		for _, v := range []float64{r.x, r.z} {
			one = append(one, strconv.FormatFloat(v, 'g', -1, 64))
		}
		cells = append(cells, one)
	}
	fit, err := own(s, []string{"g", "y", "x", "z"}, cells)
	if err != nil {
		return nil, err
	}
	terms := map[string][]*mat.VecDense{}
	for _, t := range s.Terms(false) {
		if t.Name == "g=other" || t.Name == "z=missing" {
			continue
		}
		v := mat.NewVecDense(len(fit.weights), nil)
		for _, p := range t.Parts {
			v.SetVec(p.Feature, v.AtVec(p.Feature)+p.Factor)
		}
		terms[t.Column] = append(terms[t.Column], v)
	}
	out := map[string]float64{}
	for name, list := range terms {
		b, v := mat.NewVecDense(len(list), nil), mat.NewDense(len(list), len(list), nil)
		for i, one := range list {
			b.SetVec(i, mat.Dot(one, mat.NewVecDense(len(fit.weights), fit.weights)))
			for j, other := range list {
				v.Set(i, j, mat.Inner(one, fit.variance, other))
			}
		}
		var solved mat.VecDense
		if err := solved.SolveVec(v, b); err != nil {
			return nil, err
		}
		out[name] = mathext.GammaIncRegComp(float64(len(list))/2, mat.Dot(b, &solved)/2)
	}
	return out, nil
}

// TestJointLong prints how often the joint tests of a category and of a curve reject at .05, with and without privacy, by
// hand: -long.fits.
func TestJointLong(t *testing.T) {
	if *longFits == 0 {
		t.Skip("by hand: -long.fits")
	}
	named := regexp.MustCompile(*longDesign)
	fmt.Println("| design | column | fits | tested | p < .05 | p < .01 | without privacy, p < .05 |\n|---|---|---|---|---|---|---|")
	for _, d := range jointDesigns {
		if !named.MatchString(d.name) {
			continue
		}
		found, err := d.run(t, *longFits)
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range []string{"g", "z"} {
			p := found[column]
			fmt.Printf("| %s | %s | %d | %d | %.3f | %.3f | %s |\n", d.name, column, *longFits, len(p.private), below(p.private, .05),
				below(p.private, .01), shown(below(p.plain, .05)))
		}
	}
}

type pValues struct{ private, plain []float64 }

// below returns the share of p-values below a level; NaN if there are none.
func below(p []float64, level float64) float64 {
	n := 0
	for _, v := range p {
		if v < level {
			n++
		}
	}
	return float64(n) / float64(len(p))
}

func (d tested) run(t *testing.T, fits int) (map[string]*pValues, error) {
	out := map[string]*pValues{"g": {}, "z": {}, "x": {}}
	for i := range fits {
		r := rand.New(rand.NewPCG(uint64(i), 0x7E57))
		rows := make([]testedRow, d.records)
		for k := range rows {
			rows[k] = d.draw(r)
		}
		s, err := d.spec(rows)
		if err != nil {
			return nil, err
		}
		fit, err := stillpoint.Fit(t.Context(), s)
		if err != nil {
			return nil, err
		}
		list, err := report.Tests(fit.Model)
		if err != nil {
			return nil, err
		}
		for _, one := range list {
			if one.P != nil {
				out[one.Column].private = append(out[one.Column].private, *one.P)
			}
		}
		if d.loss != "logistic" {
			continue
		}
		plain, err := d.plain(s.Schema, rows)
		if err != nil {
			return nil, err
		}
		for name, p := range plain {
			if out[name] != nil {
				out[name].plain = append(out[name].plain, p)
			}
		}
	}
	return out, nil
}

// TestChecksLong prints how often a private check of a private fit rejects at .05, by hand: -long.fits. A logistic model
// of x without the group g, and with a line where the truth may bend, is fitted; then its residuals, by g and by bands of
// the prediction, as docs/how-to/goodness.md does.
func TestChecksLong(t *testing.T) {
	if *longFits == 0 {
		t.Skip("by hand: -long.fits")
	}
	fmt.Println("| truth | rows | epsilon of each | fits | group, p < .05 | bands, p < .05 |\n|---|---|---|---|---|---|")
	for _, d := range []struct {
		name        string
		group, bend float64
		rows        int
		epsilon     float64
		share       float64
	}{
		{"the model's", 0, 0, 10_000, 1, .1},
		{"the group's log-odds are .5 higher", .5, 0, 10_000, 1, .1},
		{"the group's log-odds are 1 higher", 1, 0, 10_000, 1, .1},
		{"log-odds bend", 0, 1.5, 10_000, 1, .1},
	} {
		var p [2][]float64
		for i := range *longFits {
			r := rand.New(rand.NewPCG(uint64(i), 0xC4EC))
			rows := make([]testedRow, d.rows)
			for k := range rows {
				rows[k].x = 2*r.Float64() - 1
				score := -.5 + 1.5*rows[k].x + d.bend*(rows[k].x*rows[k].x-1./3)
				if r.Float64() < d.share {
					rows[k].g, score = 1, score+d.group
				}
				if r.Float64() < 1/(1+math.Exp(-score)) {
					rows[k].y = 1
				}
			}
			of := func(target dataset.Target, y stillpoint.Column[testedRow], name string, columns ...dataset.Column) *stillpoint.Result {
				schema, err := dataset.New(dataset.Definition{Target: target, Columns: columns})
				if err != nil {
					t.Fatal(err)
				}
				l, err := loss.Parse(name)
				if err != nil {
					t.Fatal(err)
				}
				fields := []stillpoint.Column[testedRow]{y}
				for _, c := range columns {
					switch c.Name {
					case "x":
						fields = append(fields, stillpoint.Number("x", func(r testedRow) float64 { return r.x }))
					case "g":
						fields = append(fields, stillpoint.Text("g", func(r testedRow) string { return strconv.Itoa(r.g) }))
					case "band":
						fields = append(fields, stillpoint.Text("band", func(r testedRow) string {
							return strconv.Itoa(min(int(5/(1+math.Exp(-r.z))), 4))
						}))
					}
				}
				fit, err := stillpoint.Fit(t.Context(), stillpoint.Spec{Table: stillpoint.Rows(rows, fields...), Schema: schema, Loss: l,
					Family: "lines", Anyway: true, Inference: &stillpoint.Inference{Level: level},
					Budget: stillpoint.Budget{Epsilon: d.epsilon, Delta: 1e-6, Relation: account.ReplaceOne}})
				if err != nil {
					t.Fatal(err)
				}
				return fit
			}
			fit := of(dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"0", "1"}},
				stillpoint.Text("y", func(r testedRow) string { return strconv.Itoa(int(r.y)) }), "logistic",
				dataset.Column{Name: "x", Kind: dataset.Number, Low: -1, High: 1})
			s := fit.Model.Schema()
			m, err := s.Bind([]string{"x", "y"})
			if err != nil {
				t.Fatal(err)
			}
			features := make([]float32, s.Dim())
			for k, row := range rows { // z is the score, and y the residual
				m.Encode(features, []string{strconv.FormatFloat(row.x, 'g', -1, 64), "0"})
				rows[k].z = 0
				for j, w := range fit.Model.Weights() {
					rows[k].z += w * float64(features[j])
				}
				rows[k].y -= 1 / (1 + math.Exp(-rows[k].z))
			}
			check := of(dataset.Target{Column: "y", Kind: dataset.Number, Low: -1, High: 1},
				stillpoint.Number("y", func(r testedRow) float64 { return r.y }), "squared(1)",
				dataset.Column{Name: "g", Kind: dataset.Category, Categories: []string{"0", "1"}},
				dataset.Column{Name: "band", Kind: dataset.Category, Categories: []string{"0", "1", "2", "3", "4"}})
			list, err := report.Tests(check.Model)
			if err != nil {
				t.Fatal(err)
			}
			for i, one := range list {
				if one.P != nil {
					p[i] = append(p[i], *one.P)
				}
			}
		}
		fmt.Printf("| %s | %d | %v | %d, %d | %.3f | %.3f |\n", d.name, d.rows, d.epsilon, len(p[0]), len(p[1]), below(p[0], .05), below(p[1], .05))
	}
}
