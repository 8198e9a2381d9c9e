//go:build results

package results_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
)

// tally counts how many of a kind of interval were stated, and how many of them hold the truth, fit by fit.
type tally struct{ hits, made []float64 }

// add adds the counts of a fit.
func (c *tally) add(hits, made int) {
	c.hits, c.made = append(c.hits, float64(hits)), append(c.made, float64(made))
}

func total(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum
}

// coverage returns the share of the intervals that hold the truth; NaN if there are none.
func (c *tally) coverage() float64 { return total(c.hits) / total(c.made) }

// variance returns the variance of coverage over fits. Fits are independent; the intervals of one fit are
// not.
func (c *tally) variance() (v float64) {
	rate, made := c.coverage(), total(c.made)
	for i, h := range c.hits {
		d := h - rate*c.made[i]
		v += d * d
	}
	return v / (made * made)
}

// chance returns the probability that coverage is as low as it is, or lower, if each interval holds the
// truth with probability p. The intervals count as independent ones, as many as would have the variance
// over fits, at most all of them; the probability is then that of a binomial variable.
func (c *tally) chance(p float64) float64 {
	made, rate := total(c.made), c.coverage()
	if made == 0 {
		return 1
	}
	trials := made
	if v := c.variance(); v > 0 {
		trials = min(trials, rate*(1-rate)/v)
	}
	return atMost(rate*trials, trials, p)
}

// atMost returns P(X <= hits) for a binomial X with the given number of trials and probability p, by the
// incomplete beta function, which is its continuation to numbers that are not whole.
func atMost(hits, trials, p float64) float64 {
	if hits >= trials {
		return 1
	}
	return mathext.RegIncBeta(trials-hits, hits+1, 1-p)
}

// judged collects the outcomes of a design's fits: whether intervals cover the truth, and how wide they
// are.
type judged struct {
	of    *population
	crowd *crowd
	seen  map[string]truth
	fits  int

	hits, made map[int]int // of coefficients, by the first feature of the column
	// contrasts are differences of neighbouring columns of the formula, means are predicted means of
	// rows, and joint are the joint regions of up to three coefficients.
	coefficients, contrasts, means, joint tally

	asked                  int
	width                  []float64
	unknown, short, region int
}

// truth holds the weights that the fits of a formula estimate, and the standard deviations of the
// formula's coefficients without privacy.
type truth struct{ w, sd []float64 }

func newJudged(p *population) *judged {
	return &judged{of: p, crowd: p.sample(99, 60_000), seen: map[string]truth{}, hits: map[int]int{}, made: map[int]int{}}
}

// truth returns the truth of a fit's formula. The row weights depend on the fit's preconditioner (metric),
// which differs little between fits with the same formula. The truth is therefore computed once for each
// formula, with the metric of its first fit.
func (j *judged) truth(f *inference.Fit) truth {
	key := fmt.Sprint(f.Columns)
	at, ok := j.seen[key]
	if !ok {
		at.w, at.sd = j.of.project(j.crowd, f, true)
		j.seen[key] = at
	}
	return at
}

// add judges the intervals of a fit.
func (j *judged) add(f *inference.Fit) error {
	j.fits++
	j.asked += len(j.of.columns()) - 1
	if len(f.Dropped) > 0 {
		j.short++
	}
	switch f.Method {
	case inference.Region:
		j.region++
	case inference.NotIdentified:
		j.unknown++
		return nil
	}
	at := j.truth(f)
	j.addCoefficients(f, at)
	j.addContrasts(f, at)
	j.addMeans(f, at)
	return j.addJoint(f, at)
}

// unit returns the contrast that is the coefficient of a column of the formula.
func (j *judged) unit(c inference.Column) []float64 {
	w := make([]float64, j.of.features())
	w[c.Feature] = 1
	return w
}

func (j *judged) addCoefficients(f *inference.Fit, at truth) {
	hits, made := 0, 0
	for i, c := range f.Columns {
		if c.Kept {
			continue
		}
		v := f.Contrast(j.unit(c), 0)
		if v.State != inference.Reported {
			continue
		}
		made++
		j.made[c.Feature]++
		if v.Contains(at.w[c.Feature]) {
			hits++
			j.hits[c.Feature]++
		}
		j.width = append(j.width, (v.High-v.Low)/(2*inference.Quantile(.95)*at.sd[i]))
	}
	j.coefficients.add(hits, made)
}

// addContrasts judges the difference between each column's coefficient and the next one's.
func (j *judged) addContrasts(f *inference.Fit, at truth) {
	hits, made := 0, 0
	for i := 1; i < len(f.Columns)-1; i++ {
		a, b := f.Columns[i-1], f.Columns[i]
		w := j.unit(a)
		w[b.Feature] = -1
		if v := f.Contrast(w, 0); v.State == inference.Reported {
			made++
			if v.Contains(at.w[a.Feature] - at.w[b.Feature]) {
				hits++
			}
		}
	}
	j.contrasts.add(hits, made)
}

// addMeans judges the predicted means of five rows, on the scale of the score: the intervals of
// predictions are functions of these that increase.
func (j *judged) addMeans(f *inference.Fit, at truth) {
	const rows = 5
	hits, made := 0, 0
	for _, x := range j.crowd.rows[:rows] {
		w, score := make([]float64, len(x)), 0.
		for k, v := range x {
			w[k] = float64(v)
			score += float64(v) * at.w[k]
		}
		if v := f.Contrast(w, 0); v.State == inference.Reported {
			made++
			if v.Contains(score) {
				hits++
			}
		}
	}
	j.means.add(hits, made)
}

// addJoint judges the joint region of the formula's first three coefficients, or of as many as it has.
func (j *judged) addJoint(f *inference.Fit, at truth) error {
	k := min(3, len(f.Columns)-1)
	if k == 0 {
		return nil
	}
	contrasts := make([][]float64, k)
	for i := range contrasts {
		contrasts[i] = j.unit(f.Columns[i])
	}
	region, err := f.Joint(contrasts, make([]float64, k))
	if err != nil {
		return err
	}
	if region.State != inference.Reported {
		return nil
	}
	v, apart := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
	for i, row := range region.Covariance {
		apart.SetVec(i, region.Estimate[i]-at.w[f.Columns[i].Feature])
		for n := i; n < k; n++ {
			v.SetSym(i, n, row[n])
		}
	}
	var inverse mat.Dense
	if err := inverse.Inverse(v); err != nil {
		return err
	}
	hits := 0
	if mat.Inner(apart, &inverse, apart) <= region.Limit {
		hits = 1
	}
	j.joint.add(hits, 1)
	return nil
}

// worst returns the coverage of the coefficient that is covered least, of those that were reported in an
// eighth of the fits or more; NaN if there are none.
func (j *judged) worst() float64 {
	least := math.Inf(1)
	for c, n := range j.made {
		if 8*n >= j.fits {
			least = min(least, float64(j.hits[c])/float64(n))
		}
	}
	if math.IsInf(least, 0) {
		return math.NaN()
	}
	return least
}

// medianWidth returns the median of the intervals' widths over those of the sandwich without privacy.
func (j *judged) medianWidth() float64 {
	if len(j.width) == 0 {
		return math.NaN()
	}
	slices.Sort(j.width)
	return j.width[len(j.width)/2]
}

// reported returns the share of the coefficients asked for that have an interval.
func (j *judged) reported() float64 { return total(j.coefficients.made) / float64(j.asked) }

func (j *judged) share(fits int) float64 { return float64(fits) / float64(j.fits) }

// print prints the design's row of the table of lab/results/inference.md.
func (j *judged) print() {
	p, judge := j.of, "judges"
	if p.tuning {
		judge = "tuning"
	}
	fmt.Printf("| %s | %s | %d | %g | %.3f | %.2f | %.3f | %.3f | %.3f | %.2f | %.2f | %.2f | %.2f | %.2f |\n", p.name, judge,
		p.n, p.eps, j.coefficients.coverage(), j.worst(), j.contrasts.coverage(), j.means.coverage(), j.joint.coverage(),
		j.medianWidth(), j.reported(), j.share(j.short), j.share(j.region), j.share(j.unknown))
}

// The least coverage that TestCoverage accepts. meanLow and meanHigh bound the mean over the designs that
// judge, leastDesign that of a design, leastCoefficient that of a coefficient and leastOther that of a
// design's contrasts, predicted means and joint regions.
const (
	meanLow, meanHigh = .94, .975
	leastDesign       = .92
	leastCoefficient  = .88
	leastOther        = .90
)

// TestCoverage fits each design of lab/results/inference.md -inference.fits times, a quarter of that if it has
// 100,000 records or more, prints its row, and fails if coverage is below its bounds by more than the
// fits' own chance explains:
//
//   - the coverage of a judging design's coefficients below .92; of its contrasts, predicted means or joint
//     regions below .90; of one of its coefficients below .88;
//   - the mean of the judging designs' coverage outside [.94, .975].
//
// All comparisons of a run together fail by chance with probability 1e-6 at most if each coverage is at its
// bound, and with a far smaller one if each is .95: the comparisons share 1e-6 among themselves. A
// coefficient's hits are binomial over fits. That is exact; two things are approximations: the intervals of
// a design count as the number of independent ones that their variance over fits leaves (tally.chance), and
// the mean over designs as normal.
// With 400 fits of 38 designs that is 2.5e-9 for each of about 400 comparisons: a design of 6 coefficients
// thereby fails at a coverage of .885 or less, a coefficient at .77 or less, and the mean outside its
// bounds by about .006. The log names each coverage that is below its bound at all.
func TestCoverage(t *testing.T) {
	var list []*judged
	named := regexp.MustCompile(*inferenceNamed)
	for _, p := range designs() {
		if !named.MatchString(p.name) {
			continue
		}
		fits := *inferenceFits
		if p.n >= 100_000 {
			fits = max(fits/4, 1)
		}
		j := p.run(t, fits, *inferenceSeed)
		j.print()
		if !p.tuning {
			list = append(list, j)
		}
	}
	if len(list) > 0 {
		judge(t, list)
	}
}

// comparison is a coverage with the probability that it is as low as it is if it is at its bound.
type comparison struct {
	what        string
	got, bound  float64
	probability float64
}

// comparisons returns the comparisons of a design's coverages with their bounds.
func (j *judged) comparisons() (list []comparison) {
	for _, c := range []struct {
		of    *tally
		name  string
		bound float64
	}{
		{&j.coefficients, "coefficients", leastDesign}, {&j.contrasts, "contrasts", leastOther},
		{&j.means, "predicted means", leastOther}, {&j.joint, "joint regions", leastOther},
	} {
		if total(c.of.made) > 0 {
			list = append(list, comparison{j.of.name + ", " + c.name, c.of.coverage(), c.bound, c.of.chance(c.bound)})
		}
	}
	for feature, n := range j.made {
		made, hits := float64(n), float64(j.hits[feature])
		list = append(list, comparison{fmt.Sprintf("%s, coefficient of feature %d, %d times", j.of.name, feature, n),
			hits / made, leastCoefficient, atMost(hits, made, leastCoefficient)})
	}
	return list
}

// judge fails the test for each coverage that is below its bound by more than chance.
func judge(t *testing.T, designs []*judged) {
	t.Helper()
	var list []comparison
	var sum, variance, count float64
	for _, j := range designs {
		list = append(list, j.comparisons()...)
		if total(j.coefficients.made) > 0 {
			sum, variance, count = sum+j.coefficients.coverage(), variance+j.coefficients.variance(), count+1
		}
	}
	rate := 1e-6 / float64(len(list)+2) // of each comparison: those of the list, and two of the mean
	for _, c := range list {
		if c.got < c.bound {
			t.Logf("%s: coverage %.3f: below %v, with probability %.2g", c.what, c.got, c.bound, c.probability)
		}
		if c.probability < rate {
			t.Errorf("%s: coverage %.3f: must be at least %v", c.what, c.got, c.bound)
		}
	}
	mean, deviation := sum/count, math.Sqrt(variance)/count
	slack := inference.Quantile(1-2*rate) * deviation
	t.Logf("mean coverage of %.0f designs that judge: %.4f, standard error %.4f", count, mean, deviation)
	if mean < meanLow-slack || mean > meanHigh+slack {
		t.Errorf("mean coverage %.4f: must be between %v and %v, give or take %.4f", mean, meanLow, meanHigh, slack)
	}
}

// TestJudgeCatches tests TestCoverage's own comparisons: intervals that cover too seldom must fail, and
// intervals that cover as they should must not. Of a binomial variable of 400 with probability .95 at most
// 312 are hits with probability below 1e-20.
func TestJudgeCatches(t *testing.T) {
	of := func(hits, made int) *tally {
		c := &tally{}
		for i := range 400 {
			h := hits
			if i%2 == 0 {
				h = made
			}
			c.add(h, made)
		}
		return c
	}
	if p := of(4, 6).chance(leastDesign); p > 1e-9 { // .83
		t.Errorf("a coverage of .83 has the probability %v at .92", p)
	}
	if p := of(5, 6).chance(leastDesign); p < 1e-3 { // .917
		t.Errorf("a coverage of .917 has the probability %v at .92", p)
	}
	// Intervals of a fit that hold the truth together or not at all count as one.
	together := &tally{}
	for i := range 400 {
		together.add(6*min(i%8, 1), 6)
	}
	if got, want := together.chance(leastDesign), atMost(350, 400, leastDesign); math.Abs(got/want-1) > .01 {
		t.Errorf("probability %v: want %v, that of one interval a fit", got, want)
	}
	// P(X <= 2) of a binomial X of 3 trials is 1 - p^3.
	if got := atMost(2, 3, .9); math.Abs(got-(1-.729)) > 1e-12 {
		t.Errorf("probability %v: want .271", got)
	}
}
