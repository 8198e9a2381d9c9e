package session

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/query"
)

var mechanisms = []query.Factorization{query.Tree, query.Toeplitz}

func openPrefix(t testing.TB, s *Session, p query.Prefix) *Prefix {
	t.Helper()
	sum, err := s.OpenPrefix(p)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func add(t testing.TB, p *Prefix, terms ...query.Term) query.Release {
	t.Helper()
	a, err := p.Add(context.Background(), terms...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func noiseless(c *Config) { c.Noiseless = true }

func seeded(b byte) *coin.Secret { return coin.Simulated([32]byte{b, 0x77}) }

// TestPrefixSumsItsItems tests that without noise the answers are the sums of the items' means. A
// second session with the same random bits answers these means one by one. Cohorts have different
// sizes, and points depend on earlier answers.
func TestPrefixSumsItsItems(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	const d = 5
	l := parse(t, "logistic") // a loss whose clipped differences have a public centre other than zero
	k := l.Constants()
	for _, m := range mechanisms {
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			for _, items := range []int{1, 2, 3, 7, 8, 16, 33} {
				records := randomRecords(r, 600, d)
				records[5].ok, records[17].y = false, math.NaN()
				b := budget(t, 50, .1, relation)
				s, direct := open(t, records, l, b, noiseless), open(t, records, l, b, noiseless)
				p := openPrefix(t, s, query.Prefix{Factorization: m, Items: items, Sensitivity: 60 * k.Lipschitz, Charge: 1})
				w, sum := point(r, d, 2), make([]float64, d)
				prev := w
				for i := range items {
					var c, twin query.Cohort
					var err, twinErr error
					if relation == account.ReplaceOne {
						size := 1 + r.IntN(18)
						c, err = s.Draw(size)
						twin, twinErr = direct.Draw(size)
					} else {
						c, err = s.DrawEach(.05)
						twin, twinErr = direct.DrawEach(.05)
					}
					if err != nil || twinErr != nil || c != twin {
						t.Fatal(err, twinErr, c, twin)
					}
					terms := []query.Term{query.GradientAt(c, w, k.Lipschitz)}
					if i > 0 {
						terms = []query.Term{query.DifferenceByCurvature(c, w, prev, min(0, k.Curvature.Lo), k.Curvature.Hi)}
					}
					if i%3 == 2 {
						terms = append(terms, query.GradientAt(c, prev, k.Lipschitz).Weighted(.25))
					}
					want, err := direct.Ask(context.Background(), question(t, 1, terms...))
					if err != nil {
						t.Fatal(err)
					}
					got := add(t, p, terms...)
					for j := range sum {
						sum[j] += want.Mean[j]
						// The contribution of every record may be rounded by half a step of the
						// grid.
						if !(math.Abs(got.Mean[j]-sum[j]) <= 300/p.grid.scale+1e-7) {
							t.Fatalf("%v of %d, %v: after item %d coordinate %d = %v, want %v", m, items, relation, i+1, j, got.Mean[j],
								sum[j])
						}
					}
					next := make([]float64, d)
					for j := range next {
						next[j] = w[j] - .5*got.Mean[j]
					}
					prev, w = w, next
				}
			}
		}
	}
}

// nodesOf returns the blocks of items in the binary expansion of t, each as its start and the index
// after its end.
func nodesOf(t int) map[[2]int]bool {
	nodes := map[[2]int]bool{}
	start := 0
	for size := 1 << 30; size > 0; size /= 2 {
		if t&size != 0 {
			nodes[[2]int{start, start + size}] = true
			start += size
		}
	}
	return nodes
}

// covariance returns the covariance of the noise of the answers s and t by the definition of the
// mechanism, in units of the noise variance of one node or row.
func covariance(m query.Factorization, s, t int) float64 {
	if m == query.Tree {
		common := 0.0
		for node := range nodesOf(s) {
			if nodesOf(t)[node] {
				common++
			}
		}
		return common
	}
	sum := 0.0
	for i := 1; i <= min(s, t); i++ {
		sum += central(s-i) * central(t-i)
	}
	return sum
}

// central returns binom(2k, k)/4^k, the entry on diagonal k of the square-root mechanism's matrix.
func central(k int) float64 {
	a, _ := math.Lgamma(float64(2*k + 1))
	b, _ := math.Lgamma(float64(k + 1))
	return math.Exp(a - 2*b - float64(2*k)*math.Ln2)
}

// columns returns the largest squared norm of a column of the mechanism's matrix, by the definition
// of the mechanism. For the tree mechanism it is the largest number of nodes that contain one item,
// among the nodes that a prefix uses.
func columns(m query.Factorization, items int) float64 {
	if m == query.Toeplitz {
		sum := 0.0
		for k := range items {
			sum += central(k) * central(k)
		}
		return sum
	}
	used := map[[2]int]bool{}
	for t := 1; t <= items; t++ {
		for node := range nodesOf(t) {
			used[node] = true
		}
	}
	in := make([]float64, items)
	most := 0.0
	for node := range used {
		for i := node[0]; i < node[1]; i++ {
			in[i]++
			most = max(most, in[i])
		}
	}
	return most
}

// TestPrefixNoiseHasTheStatedLaw estimates the variance of every answer's noise and the covariance
// of every two answers. With n normals an estimate has a standard deviation of at most sqrt(2/n)
// times the geometric mean of the variances. The tolerance of 6 deviations is exceeded by chance
// with probability 2e-9, and there are fewer than 400 estimates, so correct code fails with
// probability below 1e-6. If a node's noise is used twice, left out or counted twice, an estimate
// changes by 4 times the tolerance.
func TestPrefixNoiseHasTheStatedLaw(t *testing.T) {
	const d, items = 500, 16
	reps := 60
	if testing.Short() {
		reps = 20
	}
	r := rand.New(rand.NewPCG(7, 1))
	records := randomRecords(r, items*2, d)
	l := parse(t, "logistic")
	for _, m := range mechanisms {
		spec := query.Prefix{Factorization: m, Items: items, Sensitivity: .5, Charge: .3}
		var products [items][items]float64
		var stated [items]float64
		for rep := range reps {
			seed := func(c *Config) { c.Coins = seeded(byte(rep)) }
			b := budget(t, 8, .01, account.ReplaceOne)
			noisy, exact := open(t, records, l, b, seed), open(t, records, l, b, func(c *Config) { seed(c); c.Noiseless = true })
			var cohorts []query.Cohort
			for range items {
				c, err := noisy.Draw(2)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := exact.Draw(2); err != nil {
					t.Fatal(err)
				}
				cohorts = append(cohorts, c)
			}
			p, q := openPrefix(t, noisy, spec), openPrefix(t, exact, spec)
			var noise [items][]float64
			for i, c := range cohorts {
				g := query.GradientAt(c, make([]float64, d), .5)
				a, b := add(t, p, g), add(t, q, g)
				stated[i] = a.Sigma
				for j := range a.Mean {
					noise[i] = append(noise[i], a.Mean[j]-b.Mean[j])
				}
			}
			for i := range noise {
				for k := range i + 1 {
					for j := range d {
						products[i][k] += noise[i][j] * noise[k][j]
					}
				}
			}
		}
		n := float64(reps * d)
		// unit is the variance of the noise of one node at this charge.
		unit := spec.Sensitivity * spec.Sensitivity * columns(m, items) / spec.Charge
		for i := range items {
			// The rounding of the matrix and of contributions changes the standard deviation by
			// less than 1e-4 of itself.
			if want := math.Sqrt(unit * covariance(m, i+1, i+1)); !(math.Abs(stated[i]/want-1) <= 1e-4) {
				t.Errorf("%v: answer %d states sigma %v, want %v", m, i+1, stated[i], want)
			}
			if predicted := spec.Sigma(i + 1); !(math.Abs(predicted/stated[i]-1) <= 1e-4) {
				t.Errorf("%v: answer %d states sigma %v, predicted were %v", m, i+1, stated[i], predicted)
			}
			for k := range i + 1 {
				got, want := products[i][k]/n, unit*covariance(m, i+1, k+1)
				if !(math.Abs(got-want) <= (6*math.Sqrt(2/n)+1e-3)*stated[i]*stated[k]) {
					t.Errorf("%v: answers %d and %d have covariance %v, want %v", m, i+1, k+1, got, want)
				}
			}
		}
	}
}

// TestPrefixVarianceRatio tests that at equal charge the mean variance of the tree mechanism's
// answers is 4.25 times the mean variance of the square-root mechanism's answers for 64 items, and 5.7
// times for 1024.
func TestPrefixVarianceRatio(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for items, want := range map[int]float64{64: 4.25, 1024: 5.7} {
		var mean [2]float64
		for i, m := range mechanisms {
			s := open(t, randomRecords(r, items, 1), parse(t, "logistic"), budget(t, 8, .01, account.ReplaceOne), noiseless)
			p := openPrefix(t, s, query.Prefix{Factorization: m, Items: items, Sensitivity: 2, Charge: .1})
			for range items {
				c, err := s.Draw(1)
				if err != nil {
					t.Fatal(err)
				}
				a := add(t, p, query.GradientAt(c, []float64{1}, 1))
				mean[i] += a.Sigma * a.Sigma / float64(items)
			}
		}
		ratio := mean[0] / mean[1]
		t.Logf("%d items: %.3f", items, ratio)
		if !(math.Abs(ratio/want-1) <= .005) {
			t.Errorf("%d items: the tree has %.3f times the variance, want %v", items, ratio, want)
		}
	}
}
