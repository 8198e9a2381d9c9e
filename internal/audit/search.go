package audit

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/loss"
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

// recordOf is the inverse of vector: it returns the record with the features and the target in v. A target
// outside the range of the loss, or a row longer than 1, is first moved into its range. The parameter was
// is the record before the change. If it is faulty, recordOf returns it unchanged, since no search improves
// it.
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
