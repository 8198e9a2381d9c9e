package train

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// autoReduction is the number of features in model.reduce that stands for the rule's.
const autoReduction = "auto"

// reducesByRule reports whether model.reduce leaves the number of features to the rule, and returns the
// text after the word auto: "" or a comma and a seed.
func (c *Config) reducesByRule() (rest string, ok bool) {
	inside, ok := strings.CutPrefix(strings.ReplaceAll(c.Model.Reduce, " ", ""), "jl("+autoReduction)
	if !ok {
		return "", false
	}
	rest, closed := strings.CutSuffix(inside, ")")
	return rest, closed && (rest == "" || rest[0] == ',')
}

// Reduction returns the projection that shortens rows; nil if the configuration has none. It returns an
// error if the number of features is the rule's: For replaces it by a number.
func (c *Config) Reduction() (*dataset.Projection, error) {
	if c.Model.Reduce == "" {
		return nil, nil
	}
	p, err := dataset.ParseProjection(c.Model.Reduce, c.Schema.Dim())
	if err != nil {
		return nil, fmt.Errorf("model.reduce: %w", err)
	}
	return p, nil
}

// features returns the number of features of a row on which the model is trained: after the projection, if
// there is one.
func (c *Config) features(l loss.Loss) (int, error) {
	reduce, err := c.Reduction()
	if err != nil || reduce == nil {
		return c.Schema.Dim(), err
	}
	if err := reducible(l); err != nil {
		return 0, err
	}
	return reduce.Size(), nil
}

// reducible returns an error unless rows of the loss may be projected.
func reducible(l loss.Loss) error {
	if loss.Count(loss.RowLoss(l)) == 0 {
		return fmt.Errorf("model.reduce: loss %s: must be of a generalised linear model", l.Name())
	}
	return nil
}

// reduced returns model.reduce with the rule's number of features in place of auto, and a warning if the
// rule keeps all features; the setting is then empty. The schema must be final.
func (c *Config) reduced(budget account.Budget, records float64) (string, []Warning, error) {
	rest, ok := c.reducesByRule()
	if !ok {
		return c.Model.Reduce, nil, nil
	}
	if c.Inference != nil {
		return "", nil, errors.New("inference: model.reduce: must be left out: shortened rows have coefficients of their own")
	}
	l, err := c.loss()
	if err != nil {
		return "", nil, err
	}
	if err := reducible(l); err != nil {
		return "", nil, err
	}
	d := c.Schema.Dim()
	if _, err := dataset.ParseProjection("jl(1"+rest+")", d+1); err != nil {
		return "", nil, fmt.Errorf("model.reduce: %w", err)
	}
	whole := *c
	whole.Model.Reduce = ""
	p, _, err := whole.Problem(budget, records)
	if err != nil {
		return "", nil, err
	}
	k := reducedFeatures(p, budget.Delta())
	if k >= d {
		return "", []Warning{{Code: WarnWhole,
			Text: fmt.Sprintf("model.reduce: jl(auto): rows keep their %d features: with %.0f records at this budget the "+
				"rule reduces to %d", d, records, k)}}, nil
	}
	return fmt.Sprintf("jl(%d%s)", k, rest), nil, nil
}

// reducedFeatures returns the number k of features to which jl(auto) projects rows. It is the k of Theorem 6
// (Arora et al. 2023),
//
//	k = ceil(min(argmin_j g(j) + L0 log(n)/sqrt(j), rank log(2n/delta))),
//
// and follows from public quantities only. g(j) is the gradient norm that the theory promises on the records
// with j features, with a = 2 sqrt(j margins)/(n mu): L0 a for convex losses (recursive regularization, their
// Theorem 5; noisy gradient descent reaches it), else (sqrt(F0 L1 L0) a)^(2/3) + L0 a (Private SpiderBoost,
// their Theorem 1). Constants that the theory leaves open are 1. L0 log(n)/sqrt(j) is their bound on what the
// map costs. The rank of the rows is private. It is at most the number of features and the number of records.
//
// The theorem has 2 L0 and delta/2, for rows of norm up to 2 outside an event of probability delta/2. Here
// mapped rows have norm at most 1 and no such event exists, so L0 and the whole budget stand. g and the map's
// cost are both proportional to L0 for convex losses, so that k is log(n) n mu/(2 sqrt(margins)) there.
//
// The sum falls up to its minimum and rises after it, since g rises in j and the other term falls, and the
// sum is convex in the logarithm of j. reducedFeatures may return more features than the rows have.
func reducedFeatures(p optimize.Problem, delta float64) int {
	const most = 1 << 40 // above any number of features
	n, l0 := p.Records, p.Constants.Lipschitz
	sum := func(j int) float64 {
		a := 2 * math.Sqrt(float64(j*p.Shape.Margins)) / (n * p.Mu)
		g := l0 * a
		if !p.Convex() {
			g += math.Pow(math.Sqrt(p.Constants.InitialGap*p.Smoothness()*l0)*a, 2./3)
		}
		return g + l0*math.Log(n)/math.Sqrt(float64(j))
	}
	lo, hi := 1, most
	for lo < hi {
		if mid := lo + (hi-lo)/2; sum(mid) <= sum(mid+1) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	rank := min(float64(p.Shape.Features), n)
	return int(math.Ceil(min(float64(lo), rank*math.Log(2*n/delta))))
}
