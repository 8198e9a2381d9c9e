package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/querytest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// climber increases the value of a vector by trial and error. It adds Gaussian noise to a random half of
// the coordinates and keeps the new vector if its value is higher. Steps grow after a success and shrink
// after a failure, so that about one in five succeeds (Rechenberg 1973).
type climber struct {
	rand *rand.Rand
	at   []float64
	high float64
	step float64
}

func (c *climber) try(value func([]float64) (float64, error)) error {
	next := slices.Clone(c.at)
	for j := range next {
		// Only about half of the coordinates change, since ridges of the value mostly follow the axes.
		if c.rand.IntN(2) == 0 {
			next[j] += c.step * c.rand.NormFloat64()
		}
	}
	v, err := value(next)
	if err != nil {
		return err
	}
	if v > c.high {
		c.at, c.high = next, v
		c.step *= 1.5
	} else {
		c.step *= 0.903602 // 1.5^(-1/4)
	}
	return nil
}

// climb searches, for each kind of query, for records that move an answer further. It starts at the pair of
// records with the largest ratio of movement to charged sensitivity that was found so far. It varies both
// records or, under add-or-remove, the one record of the pair that is present.
func (q *inquiry) climb(ctx context.Context) error {
	kinds := make([]string, 0, len(q.best))
	for k := range q.best {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		if err := q.climbKind(ctx, kind, q.best[kind]); err != nil {
			return err
		}
	}
	return nil
}

func (q *inquiry) climbKind(ctx context.Context, kind string, p pair) error {
	c := &climber{rand: q.rand, at: slices.Concat(p.a.vector(), p.b.vector()), high: q.worst[kind].Ratio, step: .3}
	split := len(p.a.vector())
	for range q.effort.Climbs {
		if len(q.report.Violations) >= enough {
			return nil
		}
		err := c.try(func(v []float64) (float64, error) {
			p := pair{p.position, recordOf(v[:split], p.a, q.subject.Loss), recordOf(v[split:], p.b, q.subject.Loss)}
			a, err := q.frozen(ctx, p.position, p.a)
			if err != nil {
				return 0, err
			}
			b, err := q.frozen(ctx, p.position, p.b)
			if err != nil {
				return 0, err
			}
			return q.measure(p, a, b)[kind], nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// vector returns a record as numbers that a search can vary: its features, then its target.
func (c candidate) vector() []float64 {
	v := make([]float64, len(c.Row)+1)
	for j, x := range c.Row {
		v[j] = float64(x)
	}
	v[len(c.Row)] = c.Target
	return v
}

// recordOf is the inverse of vector: it returns the record with the features and the target in v. A target outside the
// range of the loss, or a row longer than 1, is first moved into its range. The parameter was is the record before the
// change. If it is faulty, recordOf returns it unchanged, since no search improves it.
func recordOf(v []float64, was candidate, l loss.Loss) candidate {
	if u, ok := l.(loss.Units); ok {
		return climbedUnit(v, was, u)
	}
	for _, x := range was.vector() {
		if math.IsNaN(x) || math.IsInf(x, 0) || math.Abs(x) > 2 {
			return was
		}
	}
	y := min(max(v[len(v)-1], -1), 1)
	switch l.Target() {
	case loss.Binary:
		y = math.Copysign(1, y)
	case loss.Classes:
		y = math.Round(min(max(v[len(v)-1], 0), float64(len(targets(l))-1)))
	}
	return candidate{Record{narrow(v[:len(v)-1]), y}, was.Why + ", climbed"}
}

// Forms returns the names of the forms of query (a gradient, a difference of gradients, and so on) that Search can
// examine for losses phi(<w,x>, y). For other losses Search can examine only some of these forms.
func Forms() []string {
	var names []string
	for _, f := range forms(loss.Logistic()) {
		names = append(names, f.Name)
	}
	return names
}

// forms returns the forms of query that Search examines for a loss. They are the forms that a prefix sum can add up, a
// sum of several of these forms, the forms that a private selection can use, and all other forms that the loss allows.
func forms(l loss.Loss) []querytest.Form { return slices.Concat(vectors(), numbers(), alone(l)) }

// searchDim is the number of features of the records in a search. Two are enough: a row can then
// lie along a step or orthogonal to it, or in between, where its margin can be chosen.
const searchDim = 2

// Search looks for the largest movement of an exact answer when one record changes. It varies the points of
// a query of the named form and two records or, under add-or-remove, one record. It climbs from up to 16
// random starts and stops when the movement reaches 98% of the charged sensitivity. steps is the number of
// steps of a climb. Zero means 300. It returns an error if the name is not a form for the loss.
func Search(ctx context.Context, l loss.Loss, r account.Relation, name string, steps int, seed uint64) (Finding,
	error) {
	steps = cmp.Or(steps, 300)
	for _, f := range forms(l) {
		if f.Name != name {
			continue
		}
		b, err := account.NewBudget(1, 1e-5, r)
		if err != nil {
			return Finding{}, err
		}
		h := &hunt{loss: l, budget: b, form: f, rand: rand.New(rand.NewPCG(seed, 77)), found: Finding{Kind: name, Answers: 1}}
		err = h.search(ctx, steps)
		return h.found, err
	}
	return Finding{}, fmt.Errorf("audit: form = %q: must be one of %q", name, Forms())
}

// hunt is the state of a call of [Search].
type hunt struct {
	loss   loss.Loss
	budget account.Budget
	form   querytest.Form
	rand   *rand.Rand
	found  Finding
}

const starts, nearly = 16, .98

func (h *hunt) search(ctx context.Context, steps int) error {
	for _, v := range h.ends() {
		if _, err := h.ratio(ctx, v); err != nil {
			return err
		}
	}
	for range starts {
		c := &climber{rand: h.rand, step: .5}
		for range 25 {
			v := h.start()
			ratio, err := h.ratio(ctx, v)
			if err != nil {
				return err
			}
			if c.at == nil || ratio > c.high {
				c.at, c.high = v, ratio
			}
		}
		for range steps {
			if c.high >= nearly {
				break
			}
			if err := c.try(func(v []float64) (float64, error) { return h.ratio(ctx, v) }); err != nil {
				return err
			}
		}
		if h.found.Ratio >= nearly {
			return nil
		}
	}
	return nil
}

// features returns the number of features of a record in the search. If the record is a unit of several
// rows, it is the sum over all rows.
func (h *hunt) features() int { return loss.RecordFeatures(h.loss, searchDim) }

// start returns a random vector from which to search. It holds, in this order: the query's point w, a direction, a
// number from which ratio computes the length of a step on a logarithmic scale, and two records, each as its features
// and its target. The query's second point is w minus the step of this length in the direction.
func (h *hunt) start() []float64 {
	n := loss.Parameters(h.loss, h.features())
	v := make([]float64, 2*n+1+2*(h.features()+1))
	for j := range v {
		v[j] = h.rand.NormFloat64()
	}
	for j := range n {
		v[j] *= 3
	}
	return v
}

// ends returns starting vectors with an extreme first record and an extreme point. The record's features
// are 0, subnormal, or so small that their squares underflow float32. Coordinates of the point range from
// 1, where losses are most curved, to numbers whose squares overflow.
func (h *hunt) ends() (list [][]float64) {
	n, d := loss.Parameters(h.loss, h.features()), h.features()
	for _, size := range []float64{1, 1e30, 1e170, math.MaxFloat64} {
		for _, norm := range []float64{0, 0x1p-149, 0x1p-140, 1e-30} {
			v := h.start()
			for j := range n {
				v[j] = math.Copysign(size, v[j])
			}
			for j := range d {
				v[2*n+1+j] = math.Copysign(norm, v[2*n+1+j])
			}
			list = append(list, v)
		}
	}
	return list
}

// ratio makes the query that the vector v of the search describes on two tables, one with each of v's two records. It
// returns the distance of the two exact answers, divided by the charged sensitivity.
func (h *hunt) ratio(ctx context.Context, v []float64) (float64, error) {
	d := h.features()
	n := loss.Parameters(h.loss, d)
	w, records := v[:n], v[2*n+1:]
	step, length := unit(v[n : 2*n])
	if length == 0 {
		return 0, nil
	}
	prev := minus(w, scaled(step, math.Pow(10, -1+min(max(v[2*n], -2), 1))))
	a := recordOf(records[:d+1], blank(d, h.loss), h.loss)
	b := recordOf(records[d+1:], blank(d, h.loss), h.loss)
	if h.budget.Relation() == account.AddOrRemove {
		b = absent(d)
	}
	s := Subject{Name: h.form.Name, Loss: h.loss, Budget: h.budget, Seed: 3}
	s.Run = func(ctx context.Context, o Oracle, _ func(optimize.Step)) (any, error) {
		q, err := query.New(h.budget.Charge()/10, h.form.Ask(o.All(), w, prev, boundsOf(h.loss.Constants(), d))...)
		if err != nil {
			return nil, err
		}
		return o.Ask(ctx, q)
	}
	still := Record{narrow(scaled(step[:searchDim], .5)), 1}
	if _, ok := h.loss.(loss.Units); ok {
		still = blank(d, h.loss).Record
	}
	s.Table = Table{Rows: [][]float32{still.Row, a.Row}, Targets: []float64{still.Target, a.Target}}
	first, err := s.trace(ctx, s.Table, nil)
	if err != nil {
		return 0, err
	}
	second, err := s.trace(ctx, s.Table.With(1, b.Record), first.exchanges)
	if err != nil {
		return 0, err
	}
	if len(first.exchanges) == 0 || len(second.exchanges) == 0 {
		return 0, nil // the query is not valid
	}
	ratio := movement(first.exchanges[0], second.exchanges[0], h.budget.Relation(), false)
	if !(ratio <= h.found.Ratio) {
		h.found.Ratio = ratio
		h.found.Neighbour = fmt.Sprintf("at %.4g, from %.4g: row %.4g, target %.3g; row %.4g, target %.3g", w, prev, a.Row,
			a.Target, b.Row, b.Target)
	}
	return ratio, nil
}
