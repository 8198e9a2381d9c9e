package audit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// Attacked is the result of an attack on a pair of neighbouring tables.
type Attacked struct {
	// Runs is the number of runs on each table.
	Runs int `json:"runs"`
	// Epsilon is a lower bound on the epsilon of the whole run at the budget's delta, at 95%
	// confidence.
	Epsilon float64 `json:"epsilon_lower"`
	// Mu is the lower bound on mu from which Epsilon follows.
	Mu float64 `json:"mu_lower"`
	// Claimed is the mu that the budget guarantees, to compare with Mu.
	Claimed float64 `json:"mu_claimed"`
	budget  account.Budget
	// Why states the reason if there was no attack. It is empty if there was an attack.
	Why string `json:"none,omitempty"`
}

func (a Attacked) String() string {
	if a.Why != "" {
		return "none: " + a.Why
	}
	return fmt.Sprintf("%d runs on each of the two worst tables, told apart by likelihood: at 95%% confidence mu is at "+
		"least %.3g of the %.3g claimed, epsilon at least %.3g of %v (more runs find "+
		"more)", a.Runs, a.Mu, a.Claimed, a.Epsilon, a.budget.Epsilon())
}

// noneForAll is the text of Attacked.Why if no answer of the run is over all records: every answer is over
// a cohort or a sample.
const noneForAll = "no answer is over all records, and who took part is a secret that an attacker does not have"

// attack runs the subject, the audited run, the given number of times on each of two neighbouring tables,
// with new random bits each time. From how well the likelihood ratio of the releases distinguishes the
// tables, it computes lower bounds on mu and epsilon at 95% confidence, and stores them in r.Attack. It
// adds a violation if the lower bound on mu at confidence 1 - 1e-6 is above the budget's mu.
func (r *Result) attack(ctx context.Context, s Subject, p pair, runs int, progress func()) error {
	p, err := s.target(ctx, p)
	if err != nil {
		return err
	}
	if p.a.Row == nil {
		r.Attack = &Attacked{Claimed: s.Budget.Mu(), budget: s.Budget, Why: noneForAll}
		return nil
	}
	out, err := Collect(runs, 1<<32, func(seed uint64, second bool) (float64, error) {
		progress()
		progress()
		return s.likelihood(ctx, p, seed, second)
	})
	r.Attack = &Attacked{Runs: runs, Claimed: s.Budget.Mu(), budget: s.Budget}
	if err != nil {
		return err
	}
	found, err := LowerGaussian(out, s.Budget.Delta(), .95)
	if err != nil {
		return err
	}
	r.Attack.Epsilon, r.Attack.Mu = found.Epsilon, found.Mu
	certain, err := LowerGaussian(out, s.Budget.Delta(), 1-1e-6)
	if err != nil {
		return err
	}
	if certain.Mu > s.Budget.Mu() {
		r.Violations = append(r.Violations, Violation{Rule: "attack",
			Detail: fmt.Sprintf("the run has mu of at least %.4g with certainty 1-1e-6, %.4g is claimed", certain.Mu,
				s.Budget.Mu())})
	}
	return nil
}

// target chooses the pair of records to attack from two pairs. The first is p, the pair that was easiest to distinguish
// in the recorded run. The second is one row with two different targets or, under add-or-remove, a row and no row. The
// second pair is easy to distinguish in every run. target makes six runs with other random bits and returns the pair
// whose exact answers differ more over these runs. If p holds no records, target returns p.
func (s Subject) target(ctx context.Context, p pair) (pair, error) {
	if p.a.Row == nil {
		return p, nil
	}
	x := make([]float32, s.Dim())
	x[len(x)-1] = 1
	ys := targets(s.Loss)
	a, b := candidate{Record{x, ys[0]}, "one target"}, candidate{Record{x, ys[len(ys)-1]}, "another target"}
	if s.relation() == account.AddOrRemove {
		b = absent(s.Dim())
	}
	best, most := p, 0.
	for _, p := range []pair{p, {p.position, a, b}} {
		var loud float64
		for seed := range uint64(6) {
			_, square, err := s.compare(ctx, p, seed, seed%2 == 1)
			if err != nil {
				return p, err
			}
			loud += square
		}
		if loud > most {
			best, most = p, loud
		}
	}
	return best, nil
}

// likelihood runs the subject, the audited run, on the first or the second table of the pair. It returns the
// log-likelihood of the released values under the second table minus their log-likelihood under the first.
func (s Subject) likelihood(ctx context.Context, p pair, seed uint64, second bool) (float64, error) {
	sum, _, err := s.compare(ctx, p, seed, second)
	return sum, err
}

// compare runs the subject on one of two neighbouring tables. It returns sum, the logarithm of the
// likelihood ratio of the released values (second table over first), and square, the squared distance of
// the two tables' exact answers in units of the noise. The attacker knows both tables and can compute the
// exact answers on each. The attacker does not know the secret random bits, which decide who is in a cohort
// or sample. compare therefore uses only answers over all records.
func (s Subject) compare(ctx context.Context, p pair, seed uint64, second bool) (sum, square float64, err error) {
	s.Seed = seed
	here, there := p.a.Record, p.b.Record
	if second {
		here, there = there, here
	}
	lived, err := s.trace(ctx, s.Table.With(p.position, here), nil)
	if err != nil {
		return 0, 0, err
	}
	other, err := s.trace(ctx, s.Table.With(p.position, there), lived.exchanges)
	if err != nil {
		return 0, 0, err
	}
	for k, x := range lived.exchanges {
		if k >= len(other.exchanges) || x.Members != nil || x.Noisy == nil || x.Event.Kind != account.Gaussian {
			continue
		}
		exact, elsewhere := x.Exact, other.exchanges[k].Exact
		if x.Scores != nil {
			exact, elsewhere = x.Scores, other.exchanges[k].Scores
		}
		// Add log N(noisy; elsewhere) - log N(noisy; exact), in units of the noise.
		for j := range exact {
			z := math.Ldexp(float64(x.Noisy[j]-exact[j]), -x.Bits)
			d := math.Ldexp(float64(elsewhere[j]-exact[j]), -x.Bits)
			sum += z*d - d*d/2
			square += d * d
		}
	}
	if second {
		sum = -sum
	}
	return sum, square, nil
}

// drawn generates n random rows that fit a schema, and encodes them as the schema encodes a row of a file.
// Most cells are within the public bounds and lists of the schema; a few are outside them or missing.
func drawn(s *dataset.Schema, n int, seed uint64) (Table, error) {
	target, columns := s.Target(), s.Columns()
	header := []string{target.Column}
	beside := target.Weight + target.Exposure.Column // at most one of the two column names is not empty
	if beside != "" {
		header = append(header, beside)
	}
	event, occurred, _ := strings.Cut(target.Event, "=")
	for _, name := range []string{event, target.Entry} {
		if name != "" {
			header = append(header, name)
		}
	}
	for _, c := range columns {
		header = append(header, c.Name)
	}
	if unit := s.Unit(); unit != (dataset.Unit{}) {
		header = append(header, unit.Column)
	}
	m, err := s.Bind(header)
	if err != nil {
		return Table{}, err
	}
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	t := Table{Rows: make([][]float32, n), Targets: make([]float64, n)}
	for i := range n {
		cells := []string{outcome(r, target)}
		switch e := target.Exposure; {
		case e.Column != "":
			cells = append(cells, number(r, e.Low, e.High))
		case beside != "":
			cells = append(cells, number(r, 0, 1))
		}
		if event != "" {
			cells = append(cells, []string{"0", cmp.Or(occurred, "1")}[r.IntN(2)])
		}
		if target.Entry != "" {
			cells = append(cells, number(r, 0, target.High/2))
		}
		for _, c := range columns {
			cells = append(cells, cell(r, c))
		}
		// The cell that names the row's unit stays empty, since units are assigned later.
		cells = append(cells, make([]string, len(header)-len(cells))...)
		t.Rows[i] = make([]float32, s.Dim())
		// A row whose target is not valid becomes a row of zeros with target 0. A session treats it as a record.
		if t.Targets[i], _ = m.Encode(t.Rows[i], cells); event != "" {
			t.Targets[i] = targetpair.Times{Cuts: target.Cuts, Increments: target.Hazards, Grouped: target.Grouped}.Carried(t.Targets[i])
		}
	}
	return t, nil
}

// shorten replaces each row by the row with fewer features that the configuration's reduction makes of it.
// Without a reduction, the rows stay as they are.
func (t *Table) shorten(c *train.Config) error {
	reduce, err := c.Reduction()
	if err != nil || reduce == nil {
		return err
	}
	sums := make([]float64, reduce.Size())
	for i, x := range t.Rows {
		t.Rows[i] = make([]float32, reduce.Size())
		reduce.Map(t.Rows[i], sums, x)
	}
	return nil
}

func outcome(r *rand.Rand, t dataset.Target) string {
	if t.Kind == dataset.Category {
		return t.Classes[r.IntN(len(t.Classes))]
	}
	return number(r, t.Low, t.High)
}

func cell(r *rand.Rand, c dataset.Column) string {
	switch {
	case c.Kind == dataset.Ignore || c.Kind == dataset.Public || r.IntN(20) == 0:
		return ""
	case c.Kind == dataset.Category:
		return c.Categories[r.IntN(len(c.Categories))]
	case c.Kind == dataset.Hash:
		return strconv.Itoa(r.IntN(2 * c.Buckets))
	case c.Kind == dataset.Date:
		return day(r, c)
	case r.IntN(20) == 0:
		return number(r, c.High, 2*c.High-c.Low)
	}
	return number(r, c.Low, c.High)
}

// day returns a random day as the text of a cell of a date column, in the column's layout. A few
// days are later than the last day that the column allows.
func day(r *rand.Rand, c dataset.Column) string {
	t := time.Unix(0, 0).UTC().AddDate(0, 0, int(c.Low+math.Floor(1.05*r.Float64()*(c.High-c.Low+1))))
	layout := c.Layout
	layout = cmp.Or(layout, "%Y-%m-%d")
	return strings.NewReplacer("%Y", t.Format("2006"), "%m", t.Format("01"), "%d", t.Format("02"), "%H", "00", "%M", "00",
		"%S", "00").Replace(layout)
}

func number(r *rand.Rand, low, high float64) string {
	u := r.Float64()
	return strconv.FormatFloat(low*(1-u)+high*u, 'g', -1, 64)
}

// Statistic runs a mechanism once, with random bits that seed determines, on the second of two neighbouring
// tables if second is true and else on the first. It returns a number computed from the released values.
// The attacker is free to choose how the number is computed: every choice gives a valid lower bound on
// epsilon, and a good choice gives a high bound.
type Statistic func(seed uint64, second bool) (float64, error)

// Runs holds the statistics of independent runs on two neighbouring tables.
type Runs struct{ First, Second []float64 }

// Collect runs a statistic the given number of times on each table. Each run has its own seed: seed, seed+2, ... on the
// first table and seed+1, seed+3, ... on the second. Collect stops at the first error and returns it.
func Collect(runs int, seed uint64, s Statistic) (Runs, error) {
	if runs < 1 {
		return Runs{}, fmt.Errorf("audit: runs = %d: must be >= 1", runs)
	}
	r := Runs{First: make([]float64, runs), Second: make([]float64, runs)}
	for i := range runs {
		var err error
		if r.First[i], err = s(seed+uint64(2*i), false); err != nil {
			return Runs{}, err
		}
		if r.Second[i], err = s(seed+uint64(2*i+1), true); err != nil {
			return Runs{}, err
		}
	}
	return r, nil
}

// Threshold is a test that guesses from a statistic which of two neighbouring tables was used. If Above is
// true, the test guesses the second table when the statistic is at least At. If Above is false, it does
// when the statistic is at most At. NaN counts as less than every number.
type Threshold struct {
	At    float64
	Above bool
}

// Second reports whether the test guesses the second table.
func (t Threshold) Second(statistic float64) bool {
	if t.Above {
		return cmp.Compare(statistic, t.At) >= 0
	}
	return cmp.Compare(statistic, t.At) <= 0
}

// Lower is a lower bound on epsilon from a threshold test: at the stated confidence, the mechanism
// is not (e, Delta)-DP for any e below Epsilon. An Epsilon of 0 contains no information.
type Lower struct {
	Epsilon, Delta, Confidence float64
	// Mu is the lower bound on the mu of Gaussian differential privacy. It is 0 if only epsilon is
	// bounded.
	Mu float64
	// Threshold is the test. It was chosen on a quarter of the runs and evaluated on the others.
	Threshold Threshold
	// Runs is the number of runs on each table on which Threshold was evaluated.
	Runs int
	// FalsePositive and FalseNegative are upper confidence bounds on the test's error rates: how often it
	// guesses the second table on the first, and the first table on the second.
	FalsePositive, FalseNegative float64
}

// LowerGaussian bounds epsilon from below for the given delta. It chooses a threshold test on the first quarter of the
// runs and evaluates it on the others. Both error rates are replaced by upper confidence bounds, each of which fails
// with probability (1 - confidence)/2 (Nasr, Hayes, Steinke, Balle, Tramer, Jagielski, Carlini and Terzis 2023). It is
// for mechanisms that are known to be exactly as private as some Gaussian mechanism: their trade-off function is
//
//	Phi(Phi^-1(1-p) - mu)    for some mu.
//
// It needs far fewer runs, because a single test then determines the whole function: mu >= Phi^-1(1-p) - Phi^-1(q) for
// the error rates p and q of any test (Nasr et al. 2023). Mu is a valid lower bound on the mu of mu-GDP for every
// mechanism. Epsilon is valid only for mechanisms that are exactly as private as a Gaussian mechanism. Another
// mechanism with the same lower bound Mu may have a smaller epsilon. LowerGaussian returns an error if delta is not >
// 0, if a table has fewer than 8 runs, and if an argument is out of range.
func LowerGaussian(r Runs, delta, confidence float64) (Lower, error) {
	if !(delta > 0) {
		return Lower{}, fmt.Errorf("audit: delta = %v: must be > 0 for a Gaussian bound", delta)
	}
	l, err := lower(r, delta, confidence, muOfRates)
	if err != nil {
		return Lower{}, err
	}
	if l.Mu = muOfRates(l.FalsePositive, l.FalseNegative); l.Mu > 0 {
		l.Epsilon, err = mechanism.GaussianEpsilon(l.Mu, delta)
		l.Epsilon *= 1 - 0x1p-50 // GaussianEpsilon rounds up, a lower bound must round down
	}
	return l, err
}

// muOfRates returns the smallest mu for which mu-GDP allows a test with error rates p, q > 0. It
// subtracts 2^-40 to cover rounding errors.
func muOfRates(p, q float64) float64 {
	if !(p+q < 1) {
		return 0
	}
	return max(0, -distuv.UnitNormal.Quantile(p)-distuv.UnitNormal.Quantile(q)-0x1p-40)
}

// lower chooses the threshold test with the largest gain on the first quarter of the runs, where gain is a function of
// the test's two error rates. It then bounds the error rates of this test from above, on the other runs.
func lower(r Runs, delta, confidence float64, gain func(p, q float64) float64) (Lower, error) {
	n := min(len(r.First), len(r.Second))
	switch {
	case n < 8:
		return Lower{}, fmt.Errorf("audit: runs = %d: must be >= 8 on each table", n)
	case !(delta >= 0 && delta < 1):
		return Lower{}, fmt.Errorf("audit: delta = %v: must be >= 0 and < 1", delta)
	case !(confidence > 0 && confidence < 1):
		return Lower{}, fmt.Errorf("audit: confidence = %v: must be > 0 and < 1", confidence)
	}
	failure := (1 - confidence) / 2
	quarter := n / 4
	l := Lower{Delta: delta, Confidence: confidence, Runs: n - quarter}
	// For the choice, error rates on the first quarter are replaced by upper bounds of high confidence.
	// Extreme thresholds that are good by chance are then not chosen.
	z := max(5, -distuv.UnitNormal.Quantile(failure))
	best := math.Inf(-1)
	for _, t := range thresholds(r.First[:quarter], r.Second[:quarter]) {
		p := wilson(t.count(r.First[:quarter]), quarter, z)
		q := wilson(quarter-t.count(r.Second[:quarter]), quarter, z)
		// Among thresholds without gain the smallest sum of error rates wins.
		if score := gain(p, q) - 1e-9*(p+q); score > best {
			best, l.Threshold = score, t
		}
	}
	l.FalsePositive = upperRate(l.Threshold.count(r.First[quarter:n]), l.Runs, failure)
	l.FalseNegative = upperRate(l.Runs-l.Threshold.count(r.Second[quarter:n]), l.Runs, failure)
	return l, nil
}

// wilson approximates [upperRate] by the score interval of Wilson (1927) with normal quantile z. It is
// fast, and is used only to choose a threshold. The reported bounds use upperRate.
func wilson(successes, trials int, z float64) float64 {
	k, n := float64(successes), float64(trials)
	return (k + z*z/2 + z*math.Sqrt(k*(n-k)/n+z*z/4)) / (n + z*z)
}

// count returns for how many of the statistics the test guesses the second table.
func (t Threshold) count(statistics []float64) (n int) {
	for _, v := range statistics {
		if t.Second(v) {
			n++
		}
	}
	return n
}

// thresholds returns the tests among which [lower] chooses. For each value At there are two tests: one
// guesses the second table above At, the other below At. The values are quantiles of both samples together.
// They are denser towards the ends, where ratios of error rates are large.
func thresholds(first, second []float64) (list []Threshold) {
	pool := slices.Concat(first, second)
	slices.Sort(pool)
	last := len(pool) - 1
	for rank := 0; rank <= last; rank += 1 + rank/8 {
		for _, v := range []float64{pool[rank], pool[last-rank]} {
			list = append(list, Threshold{v, true}, Threshold{v, false})
		}
	}
	return list
}

// upperRate returns an upper confidence bound on the probability of an event that occurred k times in n
// independent trials. With probability at most failure, the bound is below the true probability. It is the
// one-sided bound of Clopper and Pearson (1934), the p with P(Bin(n, p) <= k) = failure, found by bisection and
// rounded up: upperRate adds 2^-26 of the rate, or of 1 minus the rate if that is smaller, to cover the error of the
// computed beta function, which is about 1e-11.
func upperRate(k, n int, failure float64) float64 {
	if k == n {
		return 1
	}
	lo, hi := float64(k)/float64(n), 1.0
	_, hi = bisect(lo, hi, 60, func(p float64) bool { return below(k, n, p) > failure })
	return min(1, hi+min(hi, 1-hi)*0x1p-26)
}

// bisect finds where a condition changes: it halves the interval [lo, hi] the given number of times and
// returns the last interval. low must be true at lo, false at hi, and change only once between lo and hi.
// In the returned interval, low changes between the two ends.
func bisect(lo, hi float64, times int, low func(float64) bool) (float64, float64) {
	for range times {
		if mid := lo + (hi-lo)/2; low(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, hi
}

// below returns P(Bin(n, p) <= k), the probability of at most k successes in n trials, for 0 <= k <
// n.
func below(k, n int, p float64) float64 { return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p) }
