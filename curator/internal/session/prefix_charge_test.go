package session

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/noise"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// bigCoefficients returns 2^q binom(2k, k)/4^k, rounded to the nearest integer, for all k < items.
// It computes in exact arithmetic.
func bigCoefficients(items, q int) []*big.Int {
	list := make([]*big.Int, items)
	// The coefficient is numerator/4^k. The power of two is applied separately.
	numerator := big.NewInt(1)
	for k := range list {
		scaled := new(big.Int).Lsh(numerator, uint(q+1))
		scaled.Rsh(scaled, uint(2*k)) // floor(2^(q+1) E_k)
		list[k] = scaled.Rsh(scaled.Add(scaled, big.NewInt(1)), 1)
		// The identity is binom(2k+2, k+1) = binom(2k, k) (2k+1) 2/(k+1).
		numerator.Mul(numerator, big.NewInt(int64(2*(2*k+1))))
		numerator.Quo(numerator, big.NewInt(int64(k+1)))
	}
	return list
}

// squares returns the sum of the squares of a list.
func squares(list []*big.Int) *big.Int {
	sum, v := new(big.Int), new(big.Int)
	for _, c := range list {
		sum.Add(sum, v.Mul(c, c))
	}
	return sum
}

// TestPrefixMatrix compares the matrices of both mechanisms with their definitions. It compares the
// coefficients with exact integers, and the column norms with sums of these and with a count of
// nodes.
func TestPrefixMatrix(t *testing.T) {
	sizes := []int{100, 128, 1000, 1024, 1025, 5000}
	for items := 1; items <= 70; items++ {
		sizes = append(sizes, items)
	}
	for _, items := range sizes {
		q, square := newTree(items).law()
		if q != 0 || float64(square) != columns(query.Tree, items) {
			t.Errorf("tree of %d: law %d, %d: want 0, %v", items, q, square, columns(query.Tree, items))
		}
		m := newToeplitz(items)
		q, square = m.law()
		if want := max(16, int(math.Ceil(math.Log2(float64(items))))+4); q != want {
			t.Errorf("square root of %d: q = %d, want %d", items, q, want)
		}
		exact := bigCoefficients(items, q)
		for k, c := range m.coef {
			if exact[k].Cmp(big.NewInt(c)) != 0 {
				t.Fatalf("square root of %d: coefficient %d = %d, want %v", items, k, c, exact[k])
			}
		}
		if squares(exact).Cmp(new(big.Int).SetUint64(square)) != 0 {
			t.Errorf("square root of %d: column %d, want %v", items, square, squares(exact))
		}
		if ratio := math.Ldexp(float64(square), -2*q) / columns(query.Toeplitz, items); !(math.Abs(ratio-1) <= 1e-4) {
			t.Errorf("square root of %d: rounding changes the squared column norm by a factor %v", items, ratio)
		}
		root := new(big.Float).SetPrec(200).SetInt(squares(exact))
		root.Sqrt(root).SetMantExp(root, -q)
		norm := columnNorm(q, square)
		if over, _ := new(big.Float).Quo(big.NewFloat(norm).SetPrec(200),
			root).Float64(); new(big.Float).SetFloat64(norm).Cmp(root) < 0 || over > 1+1e-14 {
			t.Errorf("square root of %d: column norm %v, want %v rounded up", items, norm, root)
		}
	}
}

// TestInverse tests the matrices of the square-root mechanism, where A sums the items and E is the
// rounded square root of A: the convolution of the first columns of E and A E^-1 is a column of ones.
// The first column of A E^-1 differs from the first column of E by at most the rounding of E, about
// 2^-q.
func TestInverse(t *testing.T) {
	m := newToeplitz(1500)
	for range m.coef {
		m.extend()
	}
	var variance float64
	for k := range m.coef {
		sum := new(big.Float).SetPrec(200)
		for i := range k + 1 {
			c := new(big.Float).SetPrec(200).SetMantExp(new(big.Float).SetInt64(m.coef[i]), -m.q)
			sum.Add(sum, c.Mul(c, big.NewFloat(m.back[k-i])))
		}
		if one, _ := sum.Float64(); !(math.Abs(one-1) <= 1e-13) {
			t.Fatalf("entry %d of the product is %v, want 1", k, one)
		}
		if e := central(k); !(math.Abs(m.back[k]-e) <= math.Ldexp(1, -m.q)) {
			t.Errorf("entry %d = %v, want about %v", k, m.back[k], e)
		}
		variance += m.back[k] * m.back[k]
	}
	if !(math.Abs(m.variance/variance-1) <= 1e-12) {
		t.Errorf("variance %v, want %v", m.variance, variance)
	}
}

// exactColumn returns the largest norm of a column of the mechanism's matrix, to 200 bits.
func exactColumn(m query.Factorization, items int) *big.Float {
	column, q := bigFloat(columns(query.Tree, items)), 0
	if m == query.Toeplitz {
		q = newToeplitz(items).q
		column.SetInt(squares(bigCoefficients(items, q)))
	}
	return column.Sqrt(column).SetMantExp(column, -q)
}

// TestPrefixCharge tests, for every size, that the event's sensitivity is at least the column norm
// times the declared sensitivity, in exact arithmetic, and that the event's charge is just below
// the offered charge. The grid leaves room for every item.
func TestPrefixCharge(t *testing.T) {
	for _, m := range mechanisms {
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			for _, items := range []int{1, 2, 3, 31, 32, 33, 1000, 1024, 5000} {
				column := exactColumn(m, items)
				for _, rows := range []float64{1, 1e5, 2e7} {
					for _, charge := range []float64{1e-4, .01, 3} {
						for _, dim := range []int{1, 300} {
							for _, sensitivity := range []float64{0x1p-200, 1e-3, 0x1p200} {
								spec := query.Prefix{Factorization: m, Items: items, Sensitivity: sensitivity, Charge: charge}
								mech := newMechanism(spec)
								g, err := newPrefixGrid(spec, mech, relation, dim, rows)
								if err != nil {
									if rows < 1e7 {
										t.Errorf("%+v: %v", spec, err)
									}
									continue
								}
								e, err := account.GaussianEvent("x", 1, g.sensitivity, g.sigma)
								if err != nil {
									t.Fatal(err)
								}
								if e.Charge > charge || e.Charge < charge*(1-1e-6) {
									t.Errorf("%+v: charge %v", spec, e.Charge)
								}
								q, _ := mech.law()
								// The charge must cover (D (1 + slack) scale + sqrt(d)) column /
								// 2^bits.
								bound := bigFloat(sensitivity)
								bound.Mul(bound, bigFloat(1+slack(dim))).Mul(bound, bigFloat(g.scale))
								bound.Add(bound, bigFloat(0).Sqrt(bigFloat(float64(dim)))).Mul(bound, column)
								mu := bound.SetMantExp(bound, -g.bits)
								if mu.Mul(mu, mu).Cmp(bigFloat(e.Charge)) > 0 {
									t.Errorf("%+v: charge %v for %v", spec, e.Charge, mu)
								}
								if g.bits < minBits || g.bits+q > noise.MaxBits {
									t.Errorf("%+v: %d + %d bits", spec, g.bits, q)
								}
								if total := sensitivity * g.scale / clips(relation) * rows * math.Ldexp(1, q); total > 0x1p61 {
									t.Errorf("%+v: sums up to 2^%.1f", spec, math.Log2(total))
								}
							}
						}
					}
				}
			}
		}
	}
}

// byHand opens a session whose cohorts are consecutive records, of the given sizes. If extra is not
// nil, the cohort with index at also has the record extra.
func byHand(t testing.TB, records []record, extra *record, at int, l loss.Loss, b account.Budget,
	sizes []int) *Session {
	t.Helper()
	all := records
	if extra != nil {
		all = append(records[:len(records):len(records)], *extra)
	}
	s := open(t, all, l, b, func(c *Config) {
		c.Noiseless, c.Workers = true, 1
		if c.Declared > 0 {
			c.Declared = float64(len(records))
		}
	})
	next := int32(0)
	for i, size := range sizes {
		for range size {
			s.cohorts.order = append(s.cohorts.order, next)
			next++
		}
		if extra != nil && i == at {
			s.cohorts.order = append(s.cohorts.order, int32(len(records)))
		}
		s.cohorts.ends = append(s.cohorts.ends, len(s.cohorts.order))
		if b.Relation() == account.AddOrRemove {
			s.cohorts.declared = append(s.cohorts.declared, float64(size))
		}
	}
	return s
}

// state returns the whole integer vector to which noise is added, and its charged sensitivity in the
// unit of the vector. For the tree mechanism the vector has the sums of all nodes that a prefix uses.
// For the square-root mechanism it is 2^q E x, for the items x and the square root E of the matrix
// that sums them, rounded to multiples of 2^-q. The items are taken from the exact sums of the
// answers.
func state(t testing.TB, s *Session, p *Prefix, items []func(query.Cohort) []query.Term, sizes []int) (vector []int64,
	sensitivity float64) {
	t.Helper()
	var x [][]int64
	for i, terms := range items {
		if _, err := p.Add(context.Background(), terms(query.NewCohort(uint64(i+1), float64(sizes[i])))...); err != nil {
			t.Fatal(err)
		}
		if m, ok := p.mechanism.(*tree); ok {
			x = append(x, append([]int64(nil), m.sum...))
		}
	}
	e := s.Ledger().Events()[0]
	switch m := p.mechanism.(type) {
	case *tree:
		used := map[[2]int]bool{}
		for n := range items {
			for node := range nodesOf(n + 1) {
				if used[node] {
					continue
				}
				used[node] = true
				for j, v := range x[node[1]-1] {
					if node[0] > 0 {
						v -= x[node[0]-1][j]
					}
					vector = append(vector, v)
				}
			}
		}
		return vector, e.Sensitivity * p.grid.scale
	case *toeplitz:
		coef := bigCoefficients(len(items), m.q)
		for n := range m.past {
			for j := range m.past[n] {
				sum := new(big.Int)
				for i := range n + 1 {
					sum.Add(sum, new(big.Int).Mul(coef[n-i], big.NewInt(m.past[i][j])))
				}
				if !sum.IsInt64() {
					t.Fatal("the state leaves int64")
				}
				if noisy := math.Ldexp(m.noisy[n][j], m.q); !(math.Abs(noisy-float64(sum.Int64())) <= math.Abs(noisy)*0x1p-52) {
					t.Fatalf("state %d is %v, want %v", n, noisy, sum)
				}
				vector = append(vector, sum.Int64())
			}
		}
		return vector, math.Ldexp(e.Sensitivity*p.grid.scale, m.q)
	}
	return nil, 0
}

// TestReplacingARecordOfAnItem replaces, or adds, one record in any item. It compares the integers
// of the whole prefix sum without noise with the sensitivity that the item was charged for. The
// change must never exceed this sensitivity, and the worst replacement in the first item must come
// close to it. Cohorts have different sizes, by which contributions are divided before they are
// rounded.
func TestReplacingARecordOfAnItem(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	logistic := parse(t, "logistic").(loss.RankOne)
	losses := map[string]loss.Loss{"logistic": logistic, "steep": steep{logistic}, "wild": wild{logistic}}
	sizes := []int{2, 1, 3, 2, 5, 1, 2, 4}
	count := 0
	for _, s := range sizes {
		count += s
	}
	// dims holds dimensions and numbers of items, in a fixed order for the seeded generator.
	dims := [][2]int{{1, 8}, {7, 5}}
	if testing.Short() {
		dims = [][2]int{{4, 8}}
	}
	closest := map[string]float64{}
	for name, l := range inOrder(losses) {
		lo, hi := min(0, l.Constants().Curvature.Lo), max(0, l.Constants().Curvature.Hi)
		for _, size := range dims {
			d, items := size[0], size[1]
			records := randomRecords(r, count, d)
			w, prev := point(r, d, 3), point(r, d, 3)
			distance1 := query.DifferenceByCurvature(query.NewCohort(1, 1), w, prev, lo, hi).Distance()
			kinds := map[string]func(c query.Cohort) []query.Term{
				// The clip norm is proportional to c.Size(), so that every item has the declared
				// sensitivity.
				"gradient": func(c query.Cohort) []query.Term { return []query.Term{query.GradientAt(c, w, .05*c.Size())} },
				"centred": func(c query.Cohort) []query.Term {
					return []query.Term{query.DifferenceByCurvature(c, w, prev, lo, hi).Weighted(c.Size())}
				},
				"mix": func(c query.Cohort) []query.Term {
					return []query.Term{query.GradientAt(c, w, .05).Weighted(c.Size()),
						query.DifferenceByCurvature(c, w, prev, lo, hi).Weighted(.1 * c.Size())}
				},
			}
			for kind, terms := range inOrder(kinds) {
				clip := map[string]float64{"gradient": .05, "centred": (hi - lo) / 2 * distance1,
					"mix": .05 + .05*(hi-lo)*distance1}[kind] * (1 + 1e-12)
				for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
					for _, m := range mechanisms {
						spec := query.Prefix{Factorization: m, Items: items, Sensitivity: clip * clips(relation), Charge: .01}
						list := make([]func(query.Cohort) []query.Term, items)
						for i := range list {
							list[i] = terms
						}
						b := budget(t, 50, .1, relation)
						s := byHand(t, records, nil, 0, l, b, sizes)
						before, _ := state(t, s, openPrefix(t, s, spec), list, sizes)
						for i, x := range replacements(r, d, w, prev) {
							at := (i / 8) % 2 * r.IntN(items) // every other kind of row in the first item
							after, extra := append([]record(nil), records...), (*record)(nil)
							if relation == account.AddOrRemove {
								extra = &x
							} else {
								row := 0
								for _, size := range sizes[:at] {
									row += size
								}
								after[row] = x
							}
							s := byHand(t, after, extra, at, l, b, sizes)
							vector, charged := state(t, s, openPrefix(t, s, spec), list, sizes)
							moved := distance(before, vector)
							if !(moved <= charged) {
								t.Errorf("%s d=%d %v %v of %d, %s: replacement %d in item %d moves the state by %v, charged for %v", name, d,
									relation, m, items, kind, i, at+1, moved, charged)
							}
							key := fmt.Sprint(m, " of ", items, ", ", kind, ", ", relation)
							closest[key] = max(closest[key], moved/charged)
						}
					}
				}
			}
		}
	}
	for key, ratio := range closest {
		t.Logf("%s: largest ratio %.4f", key, ratio)
		if ratio < .9 && !strings.Contains(key, "mix") { // the terms of a mix rarely point in one direction
			t.Errorf("%s: the worst replacement reaches only %.3f of the charged sensitivity", key, ratio)
		}
	}
}

// TestPrefixRoundingIsCharged tests the coarsest grid, on which rounding alone moves an item
// visibly beyond its declared sensitivity. The charged sensitivity must cover this.
func TestPrefixRoundingIsCharged(t *testing.T) {
	const d = 10000
	x, minus := make([]float32, d), make([]float32, d)
	for j := range x {
		x[j], minus[j] = .01, -.01
	}
	l := steep{parse(t, "logistic").(loss.RankOne)}
	worst := 0.0
	for i := range 60 {
		spec := query.Prefix{Factorization: mechanisms[i%2], Items: 1, Sensitivity: .5, Charge: 1e-7 * (1 + float64(i)/20)}
		m := newMechanism(spec)
		// With so many rows, only the coarsest grid fits.
		rows := 1.0
		g, err := newPrefixGrid(spec, m, account.ReplaceOne, d, rows)
		for ; err == nil && g.bits > minBits && rows < 1e18; g, err = newPrefixGrid(spec, m, account.ReplaceOne, d, rows) {
			rows *= 2
		}
		if err != nil {
			t.Fatal(err)
		}
		all := query.NewCohort(account.Everyone, 1)
		q := question(t, spec.Charge, query.GradientAt(all, make([]float64, d), .25))
		before := residual(t, []record{{x, 1, true}}, l, q, g)
		after := residual(t, []record{{minus, 1, true}}, l, q, g)
		moved := distance(before, after) / g.scale
		if !(moved <= g.sensitivity) {
			t.Errorf("%v: charge %v: moved %v, charged for %v", spec.Factorization, spec.Charge, moved, g.sensitivity)
		}
		worst = max(worst, moved/spec.Sensitivity)
	}
	if worst < 1.01 {
		t.Errorf("rounding moved the item by %v of its sensitivity only: the test shows nothing", worst)
	}
}
