package session

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/query"
)

// stays reports whether v times the factors is at most 2^bits. It computes exactly.
func stays(bits int, v float64, factors ...float64) bool {
	x := bigFloat(v)
	for _, f := range factors {
		x.Mul(x, bigFloat(f))
	}
	return x.Cmp(new(big.Float).SetMantExp(bigFloat(1), bits)) <= 0
}

// TestGridsKeepIntegersInRange tests, for queries of every size, that a returned grid limits every
// contribution to 2^50 steps and every sum to 2^61 steps. If no grid is returned, the coarsest grid
// would exceed a limit.
func TestGridsKeepIntegersInRange(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	between := func(lo, hi float64) float64 { return math.Exp2(lo + (hi-lo)*r.Float64()) }
	given, refused := 0, 0
	for range 20000 {
		relation := account.ReplaceOne
		if r.IntN(2) == 0 {
			relation = account.AddOrRemove
		}
		rows := math.Ceil(between(0, 31))
		all := query.NewCohort(account.Everyone, rows)
		d := 1 + r.IntN(20)
		w, prev := point(r, d, 1), point(r, d, 1)
		radius, lo, hi := between(-30, 30), -between(-30, 30), between(-30, 30)
		term := []query.Term{
			query.GradientAt(all, w, radius), query.DifferenceWithin(all, w, prev, radius),
			query.DifferenceByCurvature(all, w, prev, lo, hi), query.ValueAt(all, w, between(-30, 30), radius),
			query.NormAt(all, w, radius, nil),
		}[r.IntN(5)].Weighted(between(-20, 20))
		charge := between(-60, 120)
		q := question(t, charge, term)
		g, err := newGrid(q, relation, rows)
		size := term.Weight() * (term.Ball().Radius + math.Abs(term.Ball().Centre)*term.Distance())
		if term.Kind().Facts().Number {
			size = term.Weight() * term.Ball().Radius // the centre is subtracted before scaling
		}
		if err != nil {
			refused++
			// On the coarsest grid a number would be too large, or the scale would not be positive.
			scale := (math.Ldexp(math.Sqrt(charge), minBits) - math.Sqrt(float64(d)) - 1) / (clips(relation) * q.Clip())
			if scale > 0 && stays(50, size*scale+2) && stays(61, size*scale+2, rows) {
				t.Fatalf("%v, charge 2^%.0f, %v rows: refused, though contributions have 2^%.1f steps", term.Kind(),
					math.Log2(charge), rows, math.Log2(size*scale))
			}
			continue
		}
		given++
		if !stays(50, size, g.scale) || !stays(61, size, g.scale, rows) {
			t.Fatalf("%v, charge 2^%.0f, %v rows: contributions of 2^%.1f steps", term.Kind(), math.Log2(charge), rows,
				math.Log2(size*g.scale))
		}
		if g.bits < minBits || g.bits > maxBits {
			t.Fatalf("%d bits", g.bits)
		}
	}
	if given < 2000 || refused < 2000 {
		t.Errorf("%d grids given, %d refused: the test shows nothing", given, refused)
	}
}

// TestPassesKeepIntegersInRange tests, for passes of SGD of every size, that a returned grid keeps
// the average within the limits of exact integers. If no grid is returned, the coarsest grid would
// exceed a limit.
func TestPassesKeepIntegersInRange(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 2))
	between := func(lo, hi float64) float64 { return math.Exp2(lo + (hi-lo)*r.Float64()) }
	k := parse(t, "logistic").Constants()
	given, refused := 0, 0
	for range 4000 {
		p := query.Pass{Start: point(r, 3, between(-5, 30)), Step: between(-8, 2), Clip: between(-3, 3)}
		if r.IntN(2) == 0 {
			p.Radius = between(-3, 20)
		}
		q := stableQuestion(t, between(-30, 100), query.NewCohort(1, 500), p)
		g, err := newStableGrid(q, k, 500)
		if err != nil {
			refused++
			continue
		}
		given++
		if b := engine.Bound(p, k, 500); !stays(50, b.Point+b.Start, g.scale) {
			t.Fatalf("%+v: an average of 2^%.1f steps", p, math.Log2((b.Point+b.Start)*g.scale))
		}
	}
	if given < 500 || refused < 500 {
		t.Errorf("%d grids given, %d refused: the test shows nothing", given, refused)
	}
}

// TestShiftsKeepIntegersInRange tests that a norm's shift of up to 2^50 steps is rounded exactly,
// on either side of zero, and that a larger shift is refused.
func TestShiftsKeepIntegersInRange(t *testing.T) {
	all := query.NewCohort(account.Everyone, 64)
	for sign := range 2 {
		for steps, taken := range map[float64]bool{0x1p50: true, 0x1p50 + 1: false, 0x1p50 - 1: true, 0x1p51: false,
			0x1p62: false, 0x1p70: false, 3: true} {
			v := steps / 64 * float64(1-2*sign)
			shift, err := shifted(question(t, 1, query.NormAt(all, []float64{0, 0}, 1, []float64{0, v})), grid{scale: 1})
			if (err == nil) != taken || taken && (float64(shift[1]) != v*64 || shift[0] != 0) {
				t.Errorf("a shift of %v steps: %v, %v", v*64, shift, err)
			}
		}
	}
}

// TestSizesInRange tests the limits on the number of records and on the declared number of records.
func TestSizesInRange(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 3))
	records := randomRecords(r, 3, 2)
	for repeat, taken := range map[int]bool{0: true, 1: true, math.MaxInt32 / 3: true, math.MaxInt32/3 + 1: false,
		math.MaxInt32: false, math.MaxInt: false} {
		_, err := New(Config{Engine: engineOver(t, tableOf(t, records, 0), parse(t, "logistic")),
			Budget: budget(t, 1, 1e-6, account.ReplaceOne), Workers: 1, Coins: coin.Simulated([32]byte{}), Repeat: repeat})
		if (err == nil) != taken || err != nil && !strings.Contains(err.Error(), "2147483647 rows") {
			t.Errorf("3 rows %d times over: %v", repeat, err)
		}
	}
	for declared, taken := range map[float64]bool{1: true, 2.5: true, math.MaxInt32: true, .999: false, 0: false,
		-1: false, 1 << 31: false, math.Inf(1): false} {
		_, err := New(Config{Engine: engineOver(t, tableOf(t, records, 0), parse(t, "logistic")),
			Budget: budget(t, 1, 1e-6, account.AddOrRemove), Workers: 1, Coins: coin.Simulated([32]byte{}), Declared: declared})
		if (err == nil) != taken || err != nil && !strings.Contains(err.Error(), "declared records") {
			t.Errorf("%v records declared: %v", declared, err)
		}
	}
	secret, err := coin.NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Engine: engineOver(t, tableOf(t, records, 0), parse(t, "logistic")),
		Budget: budget(t, 1, 1e-6, account.ReplaceOne), Workers: 1, Coins: secret, Absent: []int{1}}
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("records left out under secret coins: %v", err)
	}
}
