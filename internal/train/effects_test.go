package train

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/synthetic"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

const flatsYAML = `data: flats.csv
schema:
  columns:
    size: {number: [0, 1], curve: 4}
    light: {number: [0, 1]}
    floor: {category: [low, high]}
  target: {column: rent, number: [0, 1]}
model: {loss: huber(0.1)}
privacy: {epsilon: 60, delta: 1e-6, relation: replace-one}
`

// flats writes a table of n rows for flatsYAML, in which the effect of light is proportional to size, and returns its
// configuration with the given replacements, and the table's path.
func flats(t *testing.T, n int, changes ...string) (*Config, string) {
	t.Helper()
	t.Chdir(t.TempDir())
	in := t.TempDir()
	coin := rand.New(rand.NewPCG(4, uint64(n)))
	var b strings.Builder
	b.WriteString("size,light,floor,rent\n")
	for range n {
		size, light := coin.Float64(), coin.Float64()
		floor, rent := "low", .1+.7*size*light
		if coin.IntN(2) == 0 {
			floor, rent = "high", rent+.1
		}
		fmt.Fprintf(&b, "%.4f,%.4f,%s,%.4f\n", size, light, floor, rent)
	}
	table := write(t, filepath.Join(in, "flats.csv"), b.String())
	c, err := ReadConfig(write(t, filepath.Join(in, "flats.yaml"), strings.NewReplacer(changes...).Replace(flatsYAML)))
	if err != nil {
		t.Fatal(err)
	}
	return c, table
}

// TestEffectsFindInteractions: with features of effects a fit must find that two columns act together, which no curve
// can say. The error must fall to less than half. The charges of both stages must be within the budget, those of
// the first within its share, and the result must say where it comes from. The noise of a fit at this budget is far
// below the differences.
func TestEffectsFindInteractions(t *testing.T) {
	errors := map[string]float64{}
	for _, features := range []string{"", ", features: \"effects(3,40)\""} {
		c, table := flats(t, 3000, "huber(0.1)", "huber(0.1)"+features)
		var steps []Step
		f, err := c.Fit(context.Background(), Options{Software: "test", Step: func(s Step) { steps = append(steps, s) }})
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.Model.Evaluate(context.Background(), table, "", "")
		if err != nil {
			t.Fatal(err)
		}
		errors[features] = *e.MAE
		if total := f.Budget.Charge(); f.Charged > total || f.Charged < .99*total {
			t.Errorf("%q: charged %v of %v", features, f.Charged, total)
		}
		if len(steps) != f.Summary.Steps || steps[len(steps)-1].Number != f.Summary.Steps || !f.Result.Complete ||
			f.Result.Steps != f.Summary.Steps {
			t.Errorf("%q: %d steps seen, %d made, of %d", features, len(steps), f.Result.Steps, f.Summary.Steps)
		}
		if _, found := f.Model.Schema().Effects(); found != (features != "") {
			t.Errorf("%q: model with effects: %v", features, found)
		}
		if features == "" {
			continue
		}
		left := f.Budget.Charge() - f.Compare.Charge - f.Planned.Base.Charge
		if first := steps[f.First.Summary.Steps-1].Charged; !(math.Abs(first/left-.3) <= 1e-3) {
			t.Errorf("the first stage was charged %v of what is left", first/left)
		}
		for i, s := range steps {
			if s.Of != f.Summary.Steps || s.Number != i+1 || i > 0 && !(s.Charged > steps[i-1].Charged) {
				t.Errorf("step %d is %d of %d, charged %v", i+1, s.Number, s.Of, s.Charged)
			}
		}
		if !f.Result.Trace.Unstated {
			t.Error("the law of the second stage alone is stated as that of the fit")
		}
		recheck(t, f)
		read, err := model.Parse(mustBytes(t, f.Model))
		if err != nil || !slices.Equal(read.Weights(), f.Model.Weights()) {
			t.Errorf("read again: %v", err)
		}
	}
	if plain, with := errors[""], errors[", features: \"effects(3,40)\""]; !(with < plain/2) {
		t.Errorf("mean absolute error %v with features of effects: must be less than half of %v", with, plain)
	}
}

// recheck makes the metric of the second stage again, from the texts of the certificate and the model alone. It must
// have the distance that the certificate states, and moments of features of effects must be those of the model.
func recheck(t *testing.T, f *Fitted) {
	t.Helper()
	var run runrecord.Run
	if err := json.Unmarshal(f.Certificate.Algorithm().Plan, &run); err != nil {
		t.Fatal(err)
	}
	if run.Effects == nil || run.Effects.Synthetic == nil {
		t.Fatal("the certificate has no synthetic table")
	}
	s := run.Effects.Synthetic
	if l := s.Law; l == nil || len(l.Noise) < 2 || len(l.StepSizes) == 0 || !(l.WeightNoise > 0) || l.Moment != nil || l.Scales != nil {
		t.Errorf("the law of the first stage: %+v", l)
	}
	m, err := model.Parse(mustBytes(t, f.Model))
	if err != nil {
		t.Fatal(err)
	}
	moment, err := s.Moment.About0()
	if err != nil {
		t.Fatal(err)
	}
	e, _ := m.Schema().Effects()
	if !slices.Equal(e.Deviations, deviations) || fmt.Sprintf("%016x", e.Seed) != run.Seed {
		t.Errorf("deviations %v, seed %x", e.Deviations, e.Seed)
	}
	p, err := synthetic.New(m.Schema().WithoutEffects(), moment, e.Weights, e.Seed, s.Rows)
	if err != nil || p.Error != s.Distance || !(p.Error > 0) {
		t.Errorf("made again at the distance %v, %v: the certificate states %v", p.Error, err, s.Distance)
	}
}

func mustBytes(t *testing.T, m *model.Model) []byte {
	t.Helper()
	text, err := m.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestEffectsAreFound compares the effects that a stage finds with those of the rows themselves, for a second moment
// without noise: the centre of a column is the mean of its part of the score, and the square of the scale the sum of
// the variances. With the weights at which the second stage begins, each row must have the score of the first. The
// test fails if the scale counts squares instead of variances, a column is left out, or weights are not brought to the
// rows' new scale.
func TestEffectsAreFound(t *testing.T) {
	c, _ := flats(t, 10, "floor: {category: [low, high]}", "floor: {category: [low, high]}\n  interactions: [[size, light]]")
	base := c.Schema
	m, err := base.Bind([]string{"size", "light", "floor", "rent"})
	if err != nil {
		t.Fatal(err)
	}
	coin := rand.New(rand.NewPCG(1, 2))
	d := base.Dim()
	w := make([]float64, d)
	for j := range w {
		w[j] = coin.NormFloat64()
	}
	var rows [][]float32
	moment := mat.NewSymDense(d, nil)
	mean := make([]float64, d)
	for range 200 {
		x := make([]float32, d)
		m.Encode(x, []string{fmt.Sprint(coin.Float64()), fmt.Sprint(coin.Float64()),
			[]string{"low", "high", "else"}[coin.IntN(3)], "1"})
		rows = append(rows, x)
		for j := range d {
			mean[j] += float64(x[j]) / 200
			for k := j; k < d; k++ {
				moment.SetSym(j, k, moment.At(j, k)+float64(x[j])*float64(x[k])/200)
			}
		}
	}
	centred := mat.NewSymDense(d, nil)
	for j := range d {
		for k := j; k < d; k++ {
			centred.SetSym(j, k, moment.At(j, k)+2*mean[j]*mean[k]) // about the mean, plus 3 times its square
		}
	}
	for name, about := range map[string]*mat.SymDense{"about 0": moment, "about the mean": centred} {
		var eigen mat.EigenSym
		if !eigen.Factorize(about, true) {
			t.Fatal("no eigenvalues")
		}
		var vectors mat.Dense
		eigen.VectorsTo(&vectors)
		r := optimize.Result{W: w, Rows: &optimize.Rows{Values: eigen.Values(nil), Vectors: vectors.RawMatrix().Data}}
		if about == centred {
			r.Rows.Mean, r.Rows.MeanWeight = mean, 3
		}
		s := &Stage{effects: FeatureEffects{2, 10}}
		with, start, err := s.found(base, r, 77)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := with.Effects()
		if e.Seed != 77 || e.Features != 10 || e.Weight != 2 || !slices.Equal(e.Weights, w) {
			t.Errorf("%s: %+v", name, e)
		}
		variance := 0.
		for i, of := range base.Ranges() {
			var sum, square float64
			for _, x := range rows {
				f := 0.
				for j := range of.Width {
					f += w[of.First+j] * float64(x[of.First+j])
				}
				sum, square = sum+f/200, square+f*f/200
			}
			if !(math.Abs(e.Centres[i]-sum) <= 1e-6) {
				t.Errorf("%s: centre of %v is %v: want %v", name, of.Columns, e.Centres[i], sum)
			}
			variance += square - sum*sum
		}
		if want := math.Sqrt(variance); len(e.Centres) != 4 || !(math.Abs(e.Scale-want) <= 1e-5*want) {
			t.Errorf("%s: scale %v: want %v", name, e.Scale, want)
		}
		for _, x := range rows[:20] {
			want, got := 0., 0.
			for j, v := range x {
				want += w[j] * float64(v)
			}
			for j, v := range with.Extended(x) {
				got += start[j] * float64(v)
			}
			if !(math.Abs(got-want) <= 1e-6) {
				t.Errorf("%s: score %v where the second stage begins: want %v", name, got, want)
			}
		}
	}
	r := optimize.Result{W: make([]float64, d), Rows: &optimize.Rows{Values: make([]float64, d), Vectors: make([]float64, d*d)}}
	if with, _, err := (&Stage{effects: FeatureEffects{2, 10}}).found(base, r, 1); err != nil {
		t.Error(err)
	} else if e, _ := with.Effects(); e.Scale != 1 {
		t.Errorf("scale of no effects: %v", e.Scale)
	}
	if _, _, err := (&Stage{effects: FeatureEffects{2, 10}}).found(base, optimize.Result{W: w}, 1); err == nil {
		t.Error("found effects without a second moment")
	}
}

// TestEffectsRefuse: what cannot have features of effects must be refused, by plan and by fit, with the key's name.
func TestEffectsRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		changes []string
		want    string
	}{
		"a word":      {[]string{"huber(0.1)", "huber(0.1), features: waves"}, `model.features = "waves": must be effects`},
		"a weight":    {[]string{"huber(0.1)", `huber(0.1), features: "effects(900)"`}, "model.features: dataset: effects.weight"},
		"a number":    {[]string{"huber(0.1)", `huber(0.1), features: "effects(2,7)"`}, "effects.features = 7"},
		"a network":   {[]string{"huber(0.1)", `"network(3,tanh,huber(0.1))", features: effects`}, "must have one margin"},
		"corners":     {[]string{"huber(0.1)", "pinball(0.3), features: effects"}, "model.features: loss pinball(0.3): must have no corners"},
		"many":        {[]string{"huber(0.1)", "huber(0.1), features: effects", "{category: [low, high]}", "{hash: 1900}"}, "model.features: 1909 features of rows and 200 of effects: must be fewer"},
		"too many":    {[]string{"huber(0.1)", "huber(0.1), features: effects", "{category: [low, high]}", "{hash: 2100}"}, "model.features: rows have 2109 features"},
		"intervals":   {[]string{"huber(0.1)}", "huber(0.1), features: effects}\ninference: {level: 0.9}"}, "inference: model.features"},
		"a reduction": {[]string{"huber(0.1)", "huber(0.1), features: effects, reduce: jl(3)"}, "model.reduce: must be left out"},
		"monotone":    {[]string{"huber(0.1)", "huber(0.1), features: effects", "curve: 4", "curve: 4, monotone: up"}, "monotone"},
		"algorithm":   {[]string{"huber(0.1)}", "huber(0.1), features: effects}\ntrain: {algorithm: gd}"}, "train.algorithm: must be preconditioned"},
		"a held-out":  {[]string{"huber(0.1)}", "huber(0.1), features: effects}\ntrain: {algorithm: preconditioned, output: selected}"}, "without output: selected"},
		"goal":        {[]string{"huber(0.1)}", "huber(0.1), features: effects}\ntrain: {goal: population}"}, "train.goal: is not a setting"},
		"a unit":      {[]string{"huber(0.1)", "huber(0.1), features: effects", "  target:", "  unit: {column: who, rows: 2}\n  target:", "replace-one}", "replace-one, records: 200}"}, "schema.unit: model.features"},
		"a ball":      {[]string{"huber(0.1)", "huber(0.1), radius: 3, features: effects"}, "a set of parameters"},
	} {
		cfg, _ := flats(t, 200, c.changes...)
		_, err := cfg.Fit(context.Background(), Options{Software: "test"})
		wantError(t, err, c.want)
		_, err = cfg.Plan(context.Background())
		if wantError(t, err, c.want); t.Failed() {
			t.Fatal(name)
		}
	}
}

// TestParseFeatures: the texts of model.features, and those that are none.
func TestParseFeatures(t *testing.T) {
	for text, want := range map[string]FeatureEffects{"effects": {3, 80}, "effects(5)": {5, 80}, " effects( .5 , 40 )": {.5, 40}} {
		if e, err := ParseFeatures(text, FeatureEffects{3, 80}); err != nil || *e != want {
			t.Errorf("%q: %v, %v: want %v", text, e, err, want)
		} else if again, err := ParseFeatures(e.String(), bought); err != nil || *again != want {
			t.Errorf("%q: written as %v: %v, %v", text, e, again, err)
		}
	}
	if e, err := ParseFeatures("", bought); e != nil || err != nil {
		t.Errorf("nothing: %v, %v", e, err)
	}
	for _, text := range []string{"effect", "effects()", "effects(2", "effects2)", "effects(2,)", "effects(2,3,4)", "jl(2)", "effects[2]"} {
		if e, err := ParseFeatures(text, FeatureEffects{3, 80}); err == nil {
			t.Errorf("%q: %v", text, e)
		}
	}
}

// TestUsualFeatures: the features of numbers grow with the size of the fit, up to a limit of time, and have the norm 3.
// Those of classes number 700.
func TestUsualFeatures(t *testing.T) {
	huber, err := loss.Huber(.1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		loss          loss.Loss
		size, records float64
		want          int
	}{
		{huber, 100, 3000, 200}, {huber, 1024, 3000, 352}, {huber, 7776, 30_000, 792}, {huber, 16_807, 60_000, 1078},
		{huber, 1e5, 60_000, 1400}, {huber, 1e5, 490_000, 1000}, {huber, 1e6, 4e6, 700}, {huber, math.Inf(1), 1, 1400},
		{loss.Logistic(), 1e5, 30_000, 700},
	} {
		if got := usual(c.loss, c.size, c.records); got != (FeatureEffects{3, c.want}) {
			t.Errorf("%s of size %v with %v records: %v, want %d features of norm 3", c.loss.Name(), c.size, c.records, got, c.want)
		}
	}
}

// TestEffectsOfAnInterruptedFit: a fit that is interrupted in its first stage gives the model without features of
// effects, and one that is interrupted in its second the model with them. Both are incomplete and charged.
func TestEffectsOfAnInterruptedFit(t *testing.T) {
	for _, at := range []int{3, 20} {
		c, _ := flats(t, 1000, "huber(0.1)}", `huber(0.1), features: "effects(2,6)"}`+"\ntrain: {algorithm: preconditioned, steps: 10}")
		ctx, cancel := context.WithCancel(context.Background())
		f, err := c.Fit(ctx, Options{Software: "test", Step: func(s Step) {
			if s.Number == at-2 {
				cancel()
			}
		}})
		if err == nil || f == nil || f.Model == nil {
			t.Fatalf("stopped at step %d: %v", at, err)
		}
		_, found := f.Model.Schema().Effects()
		if found != (at > 10) || f.Model.Complete() || f.Certificate.Complete() || f.Result.Steps != at-2 {
			t.Errorf("stopped at step %d: effects: %v, complete: %v, steps: %d", at, found, f.Model.Complete(), f.Result.Steps)
		}
	}
}

// TestEffectsBegin: until the second stage has made a step, its weights are those of the first, for each loss of one
// margin.
func TestEffectsBegin(t *testing.T) {
	c, _ := flats(t, 10)
	e := FeatureEffects{2, 4}
	with, err := e.placeholder(c.Schema)
	if err != nil {
		t.Fatal(err)
	}
	h := Header{Schema: with, Loss: loss.Logistic().Name()}
	if n, err := h.Parameters(); err != nil || n != c.Schema.Dim()+4 {
		t.Errorf("%d parameters, %v", n, err)
	}
	w := make([]float64, c.Schema.Dim())
	w[0], w[len(w)-1] = 1, 2
	begins := h.Begins(w)
	_, ratio := with.EffectFactors()
	if begins[0] != 1/ratio || begins[len(begins)-1] != 2/ratio || begins[len(w)-1] != 0 {
		t.Errorf("begins at %v", begins)
	}
	if again := h.Begins(begins); !slices.Equal(again, begins) {
		t.Errorf("weights with those of effects become %v", again)
	}
	plain := Header{Schema: c.Schema, Features: "effects(2,4)", Seed: "0000000000000009"}
	good := dataset.Effects{Seed: 9, Features: 4, Weight: 2, Scale: 1, Centres: make([]float64, 3), Weights: w}
	if h, err := plain.Found(good); err != nil || h.Schema.Dim() != with.Dim() {
		t.Errorf("found: %v", err)
	}
	for name, change := range map[string]func(*dataset.Effects){"seed": func(e *dataset.Effects) { e.Seed++ },
		"features": func(e *dataset.Effects) { e.Features += 2 }, "weight": func(e *dataset.Effects) { e.Weight++ }} {
		other := good
		if change(&other); other.Weights == nil {
			t.Fatal(name)
		}
		if _, err := plain.Found(other); err == nil {
			t.Errorf("%s: other effects are those of the fit", name)
		}
	}
}

// listener is an oracle that keeps the points at which gradients in a metric were asked for.
type listener struct {
	optimize.Oracle
	points [][]float64
}

func (l *listener) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	for _, t := range q.Terms() {
		if t.Kind() == query.MetricGradient {
			l.points = append(l.points, t.Point())
		}
	}
	return l.Oracle.Ask(ctx, q)
}

// TestSecondStageContinues: the second stage must ask for its first gradient at the weights that the first found.
func TestSecondStageContinues(t *testing.T) {
	c, _ := flats(t, 1000, "huber(0.1)}", `huber(0.1), features: "effects(2,6)"}`+"\ntrain: {algorithm: preconditioned, steps: 10}")
	p, err := c.prepare(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	heard := &listener{Oracle: p.session}
	var first int
	var begins []float64
	_, schema, err := p.planned.First.Run(context.Background(), heard, c.Schema, p.planned.Seed, func(s *dataset.Schema) error {
		e, _ := s.Effects()
		first, begins = len(heard.points), Header{Schema: s}.Begins(e.Weights)
		return p.session.Refine(s)
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if first == 0 || len(heard.points) <= first {
		t.Fatalf("%d gradients, %d of them in the first stage", len(heard.points), first)
	}
	if at := heard.points[first]; len(at) != schema.Dim() || !slices.Equal(at, begins) || optimize.Norm(at) == 0 {
		t.Errorf("the second stage begins at %v: must be %v", at, begins)
	}
}
