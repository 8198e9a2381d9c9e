package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// timed is an oracle about times to events that answers made-up numbers: in each of four intervals some events, and a
// mean observed share, then expected events of a pilot fit. It records the questions.
type timed struct {
	optimize.Oracle
	records                    float64
	events, observed, expected []float64
	sigma                      float64
	asked                      []query.Question
	logit                      bool // expected are mean slopes then
}

// rise is the largest change of the loss of a record to the query for its exposure: e^30 - e^29.
var rise = math.Exp(30) - math.Exp(29)

func (o *timed) All() query.Cohort { return query.NewCohort(account.Everyone, o.records) }

func (o *timed) Ask(_ context.Context, q query.Question) (query.Release, error) {
	changes, along := 0, 0
	for _, a := range o.asked {
		switch a.Terms()[0].Kind() {
		case query.ValueChange:
			changes++
		case query.CurvatureAlong:
			along++
		}
	}
	o.asked = append(o.asked, q)
	r := query.Release{Charge: q.Charge(), Sigma: o.sigma}
	switch term := q.Terms()[0]; {
	case term.Kind() == query.ValueChange && o.logit && changes >= 2*len(o.events):
		r.Mean, r.Sigma = []float64{.25 * o.expected[changes%len(o.events)]}, .25*.004
	case term.Kind() == query.ValueChange && o.logit && changes%2 == 1:
		r.Mean = []float64{o.observed[changes/2]}
	case term.Kind() == query.ValueChange && changes%2 == 0:
		r.Mean = []float64{o.events[changes/2]}
	case term.Kind() == query.ValueChange:
		r.Mean, r.Sigma = []float64{rise * o.observed[changes/2]}, rise*o.sigma
	case term.Kind() == query.CurvatureAlong:
		r.Mean, r.Sigma = []float64{o.expected[along]}, .25*o.sigma
	default:
		r.Mean = slices.Clone(term.Point())
		for j := range r.Mean {
			r.Mean[j] = .01 * float64(j+1)
		}
	}
	return r, nil
}

// TestHazardsAreRecomputed recomputes the release of a baseline hazard from its recorded questions. Each interval has a
// schema whose hazard is 1 there and 0 elsewhere. The first hazards are events over observed shares, each with the
// events of two standard deviations of the noise more, at the mean hazard. The pilot fit begins at the constant rate of
// all intervals, or at that of one deviation of the noise if fewer events are released. The last hazards are events over the events that the pilot expects, at most 1 of a
// record. Charges are 5%, 13% and 2% of the budget.
func TestHazardsAreRecomputed(t *testing.T) {
	for trial, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove, account.ReplaceOne, account.ReplaceOne} {
		piloted := trial != 2
		path := filepath.Join(t.TempDir(), "times.yaml")
		if err := os.WriteFile(path, []byte(fmt.Sprintf(`data: people.csv
schema:
  columns:
    age: {number: [-3, 3]}
    sex: {category: [f, m]}
  target: {time: years, event: died, cuts: [0.5, 1, 2, 3]}
model: {family: lines}
privacy: {epsilon: 1, delta: 1e-6, relation: %v}
train: {algorithm: gd, steps: 3, base: off, compare: off}
`, relation)), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := ReadConfig(path)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := account.NewBudget(1, 1e-6, relation)
		if err != nil {
			t.Fatal(err)
		}
		records := 1000.
		if piloted {
			records = 200_000
		}
		p, l, err := c.Problem(whole, records)
		if err != nil {
			t.Fatal(err)
		}
		h, left, err := c.hazards(p, l)
		if err != nil {
			t.Fatal(err)
		}
		share := map[bool]float64{true: .05 + .13 + .02, false: .05}[piloted]
		if !(math.Abs(h.Charge/whole.Charge()-share) <= 1e-9) || !(math.Abs(left.Mu*left.Mu/whole.Charge()-(1-share)) <= 1e-9) ||
			(h.Pilot > 0) != piloted {
			t.Fatalf("%+v of %v, %v left", h, whole.Charge(), left.Mu*left.Mu)
		}
		o := &timed{records: records, events: []float64{.04, -.001, .09, .02}, observed: []float64{.9, .7, .5, .2},
			expected: []float64{.011, .012, .017, .019}, sigma: .003}
		if trial == 3 { // fewer events than the noise
			o.events = []float64{.001, -.001, .0015, .0001}
		}
		var refined [][]float64
		schema, err := c.released(t.Context(), o, *h, left, l, func(s *dataset.Schema) error {
			refined = append(refined, s.Target().Hazards)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		checkHazards(t, o, h, schema, refined, piloted, whole)
	}
}

// TestTimeAtRiskByHand works out the time at risk from the intervals without an event, o, that are released of records with
// cloglog hazards: d events after a time d/ln(1 + d/o). At least the noise, or one record of 1,000, has no event.
func TestTimeAtRiskByHand(t *testing.T) {
	c := timedConfig(t)
	target := c.Schema.Target()
	target.Grouped = cloglog
	schema, err := dataset.New(definition(c.Schema, c.Schema.Columns(), target))
	if err != nil {
		t.Fatal(err)
	}
	c.Schema = schema
	l, err := c.loss()
	if err != nil {
		t.Fatal(err)
	}
	for sigma, least := range map[float64]float64{.01: .01, .0001: .001} {
		o := &timed{records: 1000, events: []float64{.2, .04}, observed: []float64{.5, -.003}, sigma: sigma}
		r := &hazardRelease{Config: c, Hazards: Hazards{marginal: c.rate(l)}, oracle: o, loss: l, link: cloglog,
			problem: optimize.Problem{Records: 1000}, refine: func(*dataset.Schema) error { return nil }}
		r.marginal.Charge = .3
		if _, err := r.ofAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		for j, want := range []float64{.2 / math.Log(1+.2/.5), .04 / math.Log(1+.04/least)} {
			if got := r.observed[j]; !(math.Abs(got-want) <= 1e-9) {
				t.Errorf("noise %v, interval %d: %v at risk: must be %v", sigma, j, got, want)
			}
		}
	}
}

func checkHazards(t *testing.T, o *timed, h *Hazards, schema *dataset.Schema, refined [][]float64, piloted bool,
	budget account.Budget) {
	t.Helper()
	whole, relation := budget.Charge(), budget.Relation()
	intercept := h.marginal.Intercept
	by := func(events, observed []float64, sigma float64) []float64 {
		mean := max(events[0]+events[1]+events[2]+events[3], sigma) / (observed[0] + observed[1] + observed[2] + observed[3])
		list, sum := make([]float64, 4), 0.
		for j := range list {
			list[j] = (max(events[j], 0) + 2*sigma) / (observed[j] + 2*sigma/mean)
			sum += list[j]
		}
		for j := range list {
			list[j] /= sum
		}
		return list
	}
	first := by(o.events, o.observed, o.sigma)
	last := first
	charges := map[query.Kind]float64{}
	var points [][]float64 // of the pilot fit, and of its end
	for _, q := range o.asked {
		term := q.Terms()[0]
		charges[term.Kind()] += q.Charge() / whole
		if term.Kind() == query.ValueChange && !(math.Abs(q.Charge()/whole/(.05/8)-1) <= 1e-6) {
			t.Errorf("a question about an interval for %v of the budget: must be %v", q.Charge()/whole, .05/8)
		}
		if term.Kind() != query.ValueChange && term.Kind() != query.CurvatureAlong {
			points = append(points, term.Point())
		}
	}
	unit := [][]float64{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}
	want := append(slices.Clone(unit), first)
	if piloted {
		var along []query.Term
		for _, q := range o.asked {
			if term := q.Terms()[0]; term.Kind() == query.CurvatureAlong {
				along = append(along, term)
				if !(math.Abs(q.Charge()/whole/(.02/4)-1) <= 1e-6) {
					t.Errorf("expected events for %v of the budget: must be %v", q.Charge()/whole, .02/4)
				}
			}
		}
		if len(along) != 4 || len(points) != 3 {
			t.Fatalf("%d questions about expected events after %d steps", len(along), len(points))
		}
		all, time := max(o.events[0]+o.events[1]+o.events[2]+o.events[3], o.sigma), 0.
		for j, v := range first {
			time += v * o.observed[j]
		}
		start := points[0]
		end := len(start) - 1
		for j, v := range start {
			if want := map[bool]float64{true: math.Log(all/time) / intercept}[j == end]; !(math.Abs(v-want) <= 1e-9) {
				t.Errorf("the pilot begins at %v: must begin at the margin %v", start, math.Log(all/time))
			}
		}
		observed := make([]float64, 4)
		for j, term := range along {
			at := slices.Clone(term.Point())
			at[end] -= math.Log(first[j]) / intercept
			if j > 0 {
				before := slices.Clone(along[0].Point())
				before[end] -= math.Log(first[0]) / intercept
				for i := range at {
					if !(math.Abs(at[i]-before[i]) <= 1e-9) {
						t.Errorf("interval %d is asked about at %v, interval 0 at %v, without their hazards", j, at, before)
					}
				}
			}
			if math.Abs(at[0]-start[0]) < 1e-4 {
				t.Errorf("%v is no end of a fit that began at %v", at, start)
			}
			for i, v := range term.Along() {
				if v != map[bool]float64{true: 1}[i == end] {
					t.Errorf("direction %v: must be the intercept's", term.Along())
				}
			}
			if b, one := term.Ball(), intercept*intercept; !(math.Abs(b.Centre+b.Radius-one) <= 1e-9) ||
				!(math.Abs(b.Centre-map[account.Relation]float64{account.ReplaceOne: one / 2}[relation]) <= 1e-9) {
				t.Errorf("clipped at %v: must be at one expected event, %v, and around 0 under add-or-remove", b, one)
			}
			observed[j] = o.expected[j] / (intercept * intercept) / first[j]
		}
		last = by(o.events, observed, max(o.sigma, .25*o.sigma/(intercept*intercept)))
		want = append(append(want, unit...), last)
	}
	if len(refined) != len(want) {
		t.Fatalf("%d schemas: must be %d", len(refined), len(want))
	}
	near := func(name string, got, want []float64) {
		t.Helper()
		for j := range want {
			if !(math.Abs(got[j]-want[j]) <= 1e-9) {
				t.Errorf("piloted %v: %s %v: must be %v", piloted, name, got, want)
				return
			}
		}
	}
	for i := range want {
		near("hazards of a schema", refined[i], want[i])
	}
	near("hazards", schema.Target().Hazards, last)
	if e := schema.Target().HazardErrors; len(e) != len(last) || !(slices.Min(e) > 0) {
		t.Errorf("errors %v of the hazards' logarithms: must be one for each", e)
	}
	pilot := 0.
	for kind, share := range charges {
		if kind != query.ValueChange && kind != query.CurvatureAlong {
			pilot += share
		}
	}
	if !(math.Abs(charges[query.ValueChange]-.05) <= 1e-6) || piloted && !(math.Abs(pilot-.13) <= 1e-6) || !piloted && pilot > 0 {
		t.Errorf("charges %v", charges)
	}
	w := h.Workload(optimize.Problem{Relation: relation}, 4)
	if w.Kinds[query.ValueChange].Queries != 8 ||
		w.Kinds[query.CurvatureAlong].Queries != map[bool]float64{true: 4}[piloted] {
		t.Errorf("workload %v", w)
	}
}

// TestLogitHazardsAreRecomputed recomputes the release of baseline odds from its recorded questions, with many events and
// with few. The first odds are events over intervals at risk without one. After a pilot fit they change by the ratio of the
// odds of events and of expected events, which are the events and the released mean slope. The slope is the change of the loss over
// margins a quarter apart, around the odds of the interval, clipped to [-1/4, 1/4]. With many events there are two pilot
// fits, for half of the charges each, and the second changes the odds of the first.
func TestLogitHazardsAreRecomputed(t *testing.T) {
	for _, scale := range []float64{1, 4} {
		path := filepath.Join(t.TempDir(), "times.yaml")
		if err := os.WriteFile(path, []byte(`data: people.csv
schema:
  columns:
    age: {number: [-3, 3]}
  target: {time: years, event: died, cuts: [1, 2, 3], grouped: logit}
model: {family: lines}
privacy: {epsilon: 1, delta: 1e-6, relation: replace-one}
train: {algorithm: gd, steps: 3, base: off, compare: off}
`), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := ReadConfig(path)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
		if err != nil {
			t.Fatal(err)
		}
		p, l, err := c.Problem(whole, 200_000)
		if err != nil {
			t.Fatal(err)
		}
		h, left, err := c.hazards(p, l)
		if err != nil {
			t.Fatal(err)
		}
		o := &timed{records: 200_000, events: []float64{.05 * scale, .04 * scale, .03 * scale}, observed: []float64{.7, .5, .2},
			expected: []float64{.01, -.002, .003}, sigma: .003, logit: true}
		schema, err := c.released(t.Context(), o, *h, left, l, func(*dataset.Schema) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		by := func(observed []float64, sigma float64) []float64 {
			events, time, sum := 0., 0., 0.
			for j, e := range o.events {
				events, time = events+e, time+observed[j]
			}
			out := slices.Clone(observed)
			for j, e := range o.events {
				out[j] = (e + 2*sigma) / (observed[j] + 2*sigma/(events/time))
				sum += out[j]
			}
			for j := range out {
				out[j] /= sum
			}
			return out
		}
		rounds := map[float64]int{1: 1, 4: 2}[scale]
		want, intercept := by(o.observed, .003), h.marginal.Intercept
		asked := o.asked[6:]
		for range rounds {
			var changed []float64
			for asked[0].Terms()[0].Kind() != query.ValueChange {
				asked = asked[1:] // of the pilot fit
			}
			for j, h := range want {
				term := asked[j].Terms()[0]
				end := len(term.Point()) - 1
				if got := (term.Point()[end] - term.Previous()[end]) * intercept; !(math.Abs(got-.25) <= 1e-9) {
					t.Errorf("margins %v apart", got)
				}
				if first := asked[0].Terms()[0]; !(math.Abs((term.Point()[end]-first.Point()[end])*intercept-math.Log(h/want[0])) <= 1e-9) {
					t.Errorf("interval %d is asked about at another margin than its odds'", j)
				}
				if b := term.Ball(); b.Centre != 0 || b.Radius != .25 {
					t.Errorf("clipped at %+v", b)
				}
				if got := asked[j].Charge() / whole.Charge() * 3 * float64(rounds); !(math.Abs(got-.02) <= 1e-6) {
					t.Errorf("slopes for %v of the budget", got)
				}
				e := o.events[j] + o.expected[j]
				changed = append(changed, o.observed[j]*e/((o.events[j]+o.observed[j]-e)*h))
			}
			asked, want = asked[3:], by(changed, .004)
		}
		if len(asked) != 0 {
			t.Errorf("%d more questions", len(asked))
		}
		for j, got := range schema.Target().Hazards {
			if !(math.Abs(got-want[j]) <= 1e-9) {
				t.Errorf("odds %v: want %v", schema.Target().Hazards, want)
				break
			}
		}
	}
}

var errGradient = errors.New("a gradient is asked for")

// clipped is an oracle about times to events that ends a fit at its first gradient, of which it keeps the clip norm.
type clipped struct {
	*timed
	clip float64
}

func (o *clipped) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	switch term := q.Terms()[0]; term.Kind() {
	case query.ValueChange:
		return o.timed.Ask(ctx, q)
	case query.Curvature:
		r := query.Release{Charge: q.Charge(), Sigma: 1e-6, Mean: make([]float64, term.Dim())}
		for i := range r.Mean {
			r.Mean[i] = 1
		}
		return r, nil
	default:
		o.clip = term.Ball().Radius
		return query.Release{}, errGradient
	}
}

// TestPilotsKnowTheShareOfEvents tests the curvature with which a pilot fit is planned: the share of the records with an
// event. The clip norm of its first gradient is in proportion to the root of four times the share, which counts as 1 at
// most. Half of the events after half of the time have the same rate, so nothing else differs.
func TestPilotsKnowTheShareOfEvents(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "times.yaml"), `data: people.csv
schema:
  columns:
    age: {number: [-3, 3]}
    sex: {category: [f, m]}
  target: {time: years, event: died, cuts: [0.5, 1, 2, 3]}
model: {family: lines}
privacy: {epsilon: 1, delta: 1e-6, relation: replace-one}
train: {base: off, compare: off}
`)
	c, err := ReadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	p, l, err := c.Problem(whole, 200_000)
	if err != nil {
		t.Fatal(err)
	}
	h, left, err := c.hazards(p, l)
	if err != nil {
		t.Fatal(err)
	}
	clip := func(by float64) float64 {
		o := &clipped{timed: &timed{records: 200_000, sigma: .003 * by}}
		for j, e := range []float64{.08, -.001, .19, .04} {
			o.events = append(o.events, e*by)
			o.observed = append(o.observed, []float64{.9, .7, .5, .2}[j]*by)
		}
		if _, err := c.released(t.Context(), o, *h, left, l, func(*dataset.Schema) error { return nil }); !errors.Is(err, errGradient) {
			t.Fatal(err)
		}
		return o.clip
	}
	if got, want := clip(.5)/clip(1), math.Sqrt(4*.1545); !(math.Abs(got/want-1) <= 1e-3) { // .309 events of a record count as a quarter
		t.Errorf("the clip norm is %v of the other one: must be %v", got, want)
	}
}
