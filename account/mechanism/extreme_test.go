package mechanism

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// anyFloat returns a random number, log-uniform over the whole range of float64, including subnormals
// and both ends.
func anyFloat(r *rand.Rand) float64 {
	switch r.IntN(12) {
	case 0:
		return 0
	case 1:
		return math.SmallestNonzeroFloat64
	case 2:
		return math.MaxFloat64
	case 3:
		return math.Inf(1)
	case 4:
		return logUniform(r, 1e-3, 1e3)
	case 5:
		return 1
	}
	return math.Float64frombits(r.Uint64N(0x7ff0 << 48))
}

func anyProbability(r *rand.Rand) float64 {
	switch r.IntN(6) {
	case 0:
		return 1 - logUniform(r, 1e-16, .5)
	case 1:
		return logUniform(r, 1e-300, .5)
	case 2:
		return anyFloat(r)
	}
	return logUniform(r, 1e-12, .999)
}

func anyCount(r *rand.Rand) int {
	if r.IntN(3) == 0 {
		return 1
	}
	return logUniformInt(r, 1, 1<<30)
}

func anyMultiplier(r *rand.Rand) float64 {
	switch r.IntN(5) {
	case 0:
		return anyFloat(r)
	case 1:
		return logUniform(r, .02, 1e7)
	}
	return logUniform(r, .05, 100)
}

// anyMechanism returns a random mechanism, or the error of its constructor.
func anyMechanism(r *rand.Rand) (Mechanism, error) {
	relation := []Relation{ReplaceOne, AddOrRemove}[r.IntN(2)]
	var m Mechanism
	var err error
	switch r.IntN(8) {
	case 0:
		m, err = NewGaussian(anyMultiplier(r))
	case 1, 2, 3:
		m, err = NewSampledGaussian(anyMultiplier(r), anyProbability(r), relation)
	case 4:
		weights, offsets := anyMixture(r)
		m, err = newGaussianMixture(anyMultiplier(r), weights, offsets)
	case 5:
		m, err = newLaplace(anyMultiplier(r))
	case 6:
		m, err = newBoundedRange(anyMultiplier(r))
	default:
		m, err = newPure(anyMultiplier(r))
	}
	if err == nil && r.IntN(3) == 0 {
		m, err = Group(m, 1+r.IntN(66))
	}
	return m, err
}

// anyMixture returns weights that sum to 1 and offsets that are close, far apart, equal, or all
// above 0.
func anyMixture(r *rand.Rand) (weights, offsets []float64) {
	n := 1 + r.IntN(5)
	var sum float64
	for range n {
		w := logUniform(r, 1e-9, 1)
		weights, sum = append(weights, w), sum+w
		switch r.IntN(4) {
		case 0:
			offsets = append(offsets, 0)
		case 1:
			offsets = append(offsets, float64(1+r.IntN(4)))
		case 2:
			offsets = append(offsets, logUniform(r, 1e-3, 30))
		default:
			offsets = append(offsets, anyFloat(r))
		}
	}
	for i := range weights {
		weights[i] /= sum
	}
	return weights, offsets
}

// little limits the work of a random query. A bracket must be valid however little work is allowed.
const little = 1 << 21

func isBracket(b Bracket, most float64) bool {
	return b.Lower >= 0 && b.Lower <= b.Upper && b.Upper <= most
}

// askAnything calls every function of the accountant with random, mostly extreme arguments. The
// results must be valid brackets or errors, within the work allowed.
func askAnything(t interface {
	Helper()
	Context() context.Context
	Fatalf(string, ...any)
}, r *rand.Rand) {
	t.Helper()
	var events []Composed
	for range 1 + r.IntN(3) {
		m, err := anyMechanism(r)
		if err != nil {
			continue
		}
		events = append(events, Composed{m, anyCount(r)})
	}
	epsilon, delta := anyFloat(r), anyProbability(r)
	answered := func(what string, x float64, err error) {
		t.Helper()
		if err == nil && (math.IsNaN(x) || math.IsInf(x, 0) || x < 0) {
			t.Fatalf("%v: %s = %v at epsilon %v, delta %v", events, what, x, epsilon, delta)
		}
	}
	mu, rho := anyFloat(r), anyFloat(r)
	x, err := GaussianDelta(mu, epsilon)
	answered("gaussian delta", x, err)
	x, err = GaussianEpsilon(mu, delta)
	answered("gaussian epsilon", x, err)
	x, err = GaussianMu(epsilon, delta)
	answered("gaussian mu", x, err)
	x, err = ZCDPDelta(rho, epsilon)
	answered("zcdp delta", x, err)
	x, err = ZCDPEpsilon(rho, delta)
	answered("zcdp epsilon", x, err)
	x, err = RhoOfMu(mu)
	answered("rho", x, err)
	x, err = SelectionMu(epsilon)
	answered("selection", x, err)
	x, err = GaussianMu(epsilon, delta)
	answered("budget", x, err)
	if x, err = ZCDP(t.Context(), events); err == nil {
		answered("zcdp", x, err)
	}
	if orders, err := ComposeRenyi(t.Context(), events); err == nil {
		at := func(order float64) (x float64, err error) {
			return orders.at(newEffort(t.Context(), little), order)
		}
		x, err = at(1 + logUniform(r, 1e-3, 1e3))
		if err == nil && !(x >= 0) {
			t.Fatalf("%v: divergence %v", events, x)
		}
	}
	c, err := Compose(t.Context(), events, logUniform(r, 1e-6, .1))
	if err != nil {
		return
	}
	ask := func(what string, most float64, f func(*effort) (Bracket, error)) {
		t.Helper()
		e := newEffort(t.Context(), little)
		b, err := f(e)
		if err == nil && (!isBracket(b, most) || math.IsInf(b.Upper, 1)) {
			t.Fatalf("%v: %s = %v at epsilon %v, delta %v", events, what, b, epsilon, delta)
		}
	}
	if len(c.parts) == 0 {
		if vector.Finite(epsilon) {
			ask("delta", 1, func(*effort) (Bracket, error) { return c.Delta(t.Context(), epsilon) })
		}
		ask("epsilon", math.MaxFloat64, func(*effort) (Bracket, error) { return c.Epsilon(t.Context(), delta) })
		return
	}
	if vector.Finite(epsilon) {
		ask("delta", 1, func(e *effort) (Bracket, error) { return c.delta(e, epsilon) })
	}
	if delta > 0 && delta < 1 {
		ask("epsilon", math.MaxFloat64, func(e *effort) (Bracket, error) { return c.epsilon(e, delta) })
	}
	curve, err := c.tradeOff(newEffort(t.Context(), little), []float64{0, 1e-6, .5, 1})
	for _, b := range curve {
		if !isBracket(b, 1) {
			t.Fatalf("%v: trade-off %v (%v)", events, b, err)
		}
	}
}

// TestEveryInputIsAnswered calls askAnything for numbers over the whole range of float64,
// counts up to 2^30, groups and mixtures.
func TestEveryInputIsAnswered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		askAnything(t, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
	})
	askAnything(t, rand.New(rand.NewPCG(0x64c9, 1))) // the lower end of 34 million uses was above the sum of their losses
}

func FuzzEveryInputIsAnswered(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		askAnything(t, rand.New(rand.NewPCG(seed, 2)))
	})
}

// TestOneUseOfAnyMixture compares the delta of a single use with refHockey, a difference of normal
// tails. The mixtures are without an offset of 0, with distant or equal offsets, or seen by
// groups.
func TestOneUseOfAnyMixture(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(51, 1))
	checked := 0
	for range trials(400) {
		var m Mechanism
		var err error
		z := logUniform(r, .1, 30)
		if r.IntN(3) == 0 {
			q := anyProbability(r)
			if r.IntN(2) == 0 {
				m, err = NewSampledGaussian(z, q, ReplaceOne)
			} else if m, err = NewSampledGaussian(z, q, AddOrRemove); err == nil {
				m, err = Group(m, 1+r.IntN(64))
			}
		} else {
			weights, offsets := anyMixture(r)
			m, err = newGaussianMixture(z, weights, offsets)
		}
		if err != nil {
			continue
		}
		c, err := Compose(t.Context(), []Composed{{m, 1}}, 1e-3)
		if err != nil || len(c.parts) == 0 {
			continue
		}
		for k, l := range m.laws() {
			if k >= len(c.directions()) {
				break
			}
			law := l.(mixtureLaw)
			if law.steepest() > 200 {
				continue // the reference covers |x| < 1000
			}
			epsilon := logUniform(r, 1e-6, 30)
			want := refHockey(law, epsilon)
			if want < 1e-9 {
				continue
			}
			checked++
			d := c.directions()[k]
			b, err := d.delta(newEffort(t.Context(), 1<<24), epsilon, 1e-3, false, func(Bracket) bool { return false })
			if err != nil {
				t.Fatal(err)
			}
			checkBracket(t, m.String(), b, want, 1e-6)
		}
	}
	if checked < trials(80) {
		t.Errorf("only %d cases", checked)
	}
}

// interrupted is a context that ends at the n-th check.
type interrupted struct {
	context.Context
	left *int
}

func (c interrupted) Err() error {
	if *c.left--; *c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterrupt tests that every computation ends at the next check of an ended context, wherever
// that check is.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	step := sampled(t, .3, .9, AddOrRemove)
	events := []Composed{{step, 1000}, {sampled(t, 2, .3, AddOrRemove), 7}}
	c := compose(t, 1e-6, events...)
	orders, err := ComposeRenyi(t.Context(), events)
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func(context.Context) error{
		"delta":         func(ctx context.Context) error { _, err := c.Delta(ctx, 10); return err },
		"epsilon":       func(ctx context.Context) error { _, err := c.Epsilon(ctx, 1e-6); return err },
		"trade-off":     func(ctx context.Context) error { _, err := c.TradeOff(ctx, []float64{.1}); return err },
		"renyi epsilon": func(ctx context.Context) error { _, err := orders.Epsilon(ctx, 1e-6); return err },
		"renyi delta":   func(ctx context.Context) error { _, err := orders.Delta(ctx, 1); return err },
		"multiplier": func(ctx context.Context) error {
			_, err := sampledMultiplier(ctx, 1, 1e-6, .1, 100, AddOrRemove)
			return err
		},
		"schedule": func(ctx context.Context) error {
			_, err := SampledPlan{Steps: []SampledSteps{{20, .1, 10}}, Relation: AddOrRemove}.Prove(ctx, 1, 1e-6)
			return err
		},
		"calibrated schedule": func(ctx context.Context) error {
			_, _, err := SampledPlan{Steps: []SampledSteps{{1, .1, 10}}, Relation: AddOrRemove}.Calibrate(ctx, 1, 1e-6)
			return err
		},
	} {
		for _, n := range []int{0, 1, 2, 5, 12} {
			left := n
			if err := ask(interrupted{t.Context(), &left}); left < 0 && !errors.Is(err, context.Canceled) || left == n {
				t.Errorf("%s, ended at look %d: %v", name, n, err)
			}
			if left < -3 {
				t.Errorf("%s, ended at look %d: looked %d times more", name, n, -left)
			}
		}
	}
}

// TestChargesThatUnderflow tests Gaussian parts whose mu^2 underflows. The lower ends of the
// brackets must be 0, and the upper ends at least 0 and below 1e-100.
func TestChargesThatUnderflow(t *testing.T) {
	m, err := NewGaussian(0x1p1020)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compose(t.Context(), []Composed{{m, 6636504}}, .1)
	if err != nil {
		t.Fatal(err)
	}
	for _, epsilon := range []float64{0, 1e-242, 1} {
		if b, err := c.Delta(t.Context(), epsilon); err != nil || b.Lower != 0 || !(b.Upper >= 0 && b.Upper < 1e-100) {
			t.Errorf("delta %v at epsilon %v, %v", b, epsilon, err)
		}
	}
	if b, err := c.Epsilon(t.Context(), 1e-77); err != nil || b.Lower != 0 || !(b.Upper >= 0 && b.Upper < 1e-100) {
		t.Errorf("epsilon %v, %v", b, err)
	}
}
