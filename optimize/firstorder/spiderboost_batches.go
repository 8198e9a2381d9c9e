package firstorder

import (
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Batches is a rule for the shares of the records on which a [SpiderBoost] releases anchors and
// differences.
type Batches uint8

const (
	// ruleBatches means TheoremBatches with SpiderBoost.Theorem, else AllRecords.
	ruleBatches Batches = iota
	// AllRecords uses all records in each release.
	AllRecords
	// TheoremBatches uses all records in anchors and the b2 of Theorem 9 (Arora et al. 2023) in
	// differences.
	TheoremBatches
	// AutoBatches uses the fewest records for which SpiderBoost.BatchSlack holds.
	AutoBatches

	batchRules
)

var batchNames = [...]string{"", "all", "theorem", "auto"}

// This line does not compile unless every rule has a name.
var _ = [1]struct{}{}[len(batchNames)-int(batchRules)]

func (b Batches) String() string { return optimize.NameOf(batchNames[:], "batches", uint8(b)) }

// UnmarshalText sets b to the rule with the given name; the empty name is the algorithm's own rule.
func (b *Batches) UnmarshalText(text []byte) error {
	i, err := optimize.ParseName(batchNames[:], "batches", string(text))
	*b = Batches(i)
	return err
}

// defaultBatchSlack is the loss of accuracy that batches: auto states where no other is given.
const defaultBatchSlack = .1

func (c SpiderBoost) checkBatches() error {
	if c.Batches >= batchRules {
		return fmt.Errorf("optimize: spiderboost: batches = %v: must be all, theorem or auto", c.Batches)
	}
	if c.BatchSlack != 0 && (c.Batches != AutoBatches || !optimize.Positive(c.BatchSlack)) {
		return fmt.Errorf("optimize: spiderboost: batch slack = %v: must be finite and > 0, and is a setting of batches: "+
			"auto",
			c.BatchSlack)
	}
	for _, x := range []struct {
		name  string
		share float64
	}{{"anchor", c.AnchorBatch}, {"difference", c.DifferenceBatch}} {
		ruled := x.share == 0 && (c.Batches == TheoremBatches || c.Batches == AutoBatches)
		if (c.AnchorBatch != 0 || c.DifferenceBatch != 0) && !ruled && !(x.share > 0 && x.share <= 1) {
			return fmt.Errorf("optimize: spiderboost: %s batch = %v of the records: must be > 0 and <= 1", x.name, x.share)
		}
	}
	if c.Batches == AllRecords && (c.AnchorBatch != 0 || c.DifferenceBatch != 0) {
		return fmt.Errorf("optimize: spiderboost: batches = all: must be left out where a batch is given")
	}
	return nil
}

// withBatches replaces shares that are zero by those of the rule c.Batches, for releases with the given
// charges on all records. If both shares are then 1, both become zero: nothing is sampled.
func (c SpiderBoost) withBatches(p optimize.Problem, anchor, difference float64) SpiderBoost {
	var anchors, differences float64
	switch c.Batches {
	case TheoremBatches:
		anchors, differences = 1, theoremBatch(p)
	case AutoBatches:
		slack := c.BatchSlack
		if slack == 0 {
			slack = defaultBatchSlack
		}
		most := (1 + slack) * (1 + slack)
		anchors, differences = leastBatch(p, anchor, most), leastBatch(p, difference, most)
	default:
		return c
	}
	if c.AnchorBatch == 0 {
		c.AnchorBatch = anchors
	}
	if c.DifferenceBatch == 0 {
		c.DifferenceBatch = differences
	}
	if c.AnchorBatch == 1 && c.DifferenceBatch == 1 {
		c.AnchorBatch, c.DifferenceBatch = 0, 0
	}
	return c
}

// theoremBatch returns b2/n, the share of the n records in the batch of a gradient difference, by Theorem 9 of
// Arora et al. 2023. The theorem's sqrt(d log(1/delta))/(n epsilon) is replaced by a = 2/N for the effective size
// N:
//
//	b2 = floor(max((L0/(sqrt(F0 L1) a))^(2/3), n (L0 a^2/sqrt(F0 L1))^(1/3))), from 1 to n
//
// With at least the first number of records, the sampling error is at most the privacy noise. The second number is
// n/sqrt(T) for the theorem's number of steps T. In smaller samples, one release needs more noise than
// amplification by sampling saves.
func theoremBatch(p optimize.Problem) float64 {
	a, f := 2/p.Effective(), math.Sqrt(p.Constants.InitialGap*p.Smoothness())
	samples := math.Pow(p.Constants.Lipschitz/(f*a), 2./3)
	amplified := p.Records * math.Cbrt(p.Constants.Lipschitz*a*a/f)
	return min(max(math.Floor(max(samples, amplified)), 1)/p.Records, 1)
}

// leastBatch returns the smallest share b in (0, 1] of the records for which the variance of a release
// with the given charge on all records grows at most by the factor most.
//
// Why this is the rule of least work. Anchors and differences are to take the fewest gradients of
// records, A b1 + 2 D b2 times n, while no gradient estimate has more than most times the variance that
// it has on all records, wherever the steps go. The estimate is a sum of an anchor and of the
// differences since. A release with clip norm C has, with v = 2 under replace-one and 1 under
// add-or-remove,
//
//	on all records:        d (v C/n)^2/m from noise
//	on a share b of them:  I(u) times that, with u = m/(v b)^2, and at most (1/b - 1) C^2/n from samples
//
// The ratio of the two is
//
//	I(u) + (1/b - 1) n m/(v^2 d),
//
// in which C has dropped out, and with it the length of the step. An estimate's ratio is a mean of the
// ratios of its releases, weighted by their variances. Steps of length zero leave the anchor alone, and
// long steps leave the differences alone. So both ratios have to be at most the factor, and each is the
// least with the smallest share that satisfies it, since the ratio falls in b.
//
// I(u) is the price of sampling in the limit of many releases (the central limit theorem of Gaussian
// differential privacy: Dong, Roth and Su 2022; Bu, Dong, Long and Su 2020). The chi-square divergence of
// a release on samples with noise multiplier z is 4 b^2 sinh(1/z^2) under replace-one, where the record
// moves the sum from C to -C, and b^2 (exp(1/z^2) - 1) under add-or-remove. Equating it with the charge m
// gives z^2 = 1/asinh(u), or 1/ln(1+u). The noise's variance over that on all records is u z^2. The limit
// chooses batches only. The noise is calibrated by the accountant.
func leastBatch(p optimize.Problem, charge, most float64) float64 {
	v := p.Neighbours()
	ratio := func(b float64) float64 {
		z := sampledMultiplier(v, b, charge)
		return charge*z*z/(v*v*b*b) + (1/b-1)*p.Records*charge/(v*v*float64(p.Dim()))
	}
	lo, hi := math.Log(min(1/p.Records, 1)), 0.
	switch {
	case charge == 0: // there is no such release
		return 1
	case ratio(math.Exp(lo)) <= most:
		return math.Exp(lo)
	}
	for range 60 {
		mid := (lo + hi) / 2
		if ratio(math.Exp(mid)) <= most {
			hi = mid
		} else {
			lo = mid
		}
	}
	return math.Exp(hi)
}

// sampledMultiplier returns the noise multiplier of a release on a Poisson sample of the share b of the
// records that costs as much as the charge, in the limit of many such releases (see leastBatch).
func sampledMultiplier(v, b, charge float64) float64 {
	u := max(charge, math.SmallestNonzeroFloat64) / (v * v * b * b)
	if v == 1 {
		return 1 / math.Sqrt(math.Log1p(u))
	}
	return 1 / math.Sqrt(math.Asinh(u))
}
