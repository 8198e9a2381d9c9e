package train

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"sort"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// ruleText matches a text of model.reduce with the word auto in place of a number of features: the rule of
// reducedFeatures then sets the number.
var ruleText = regexp.MustCompile(`^jl\(auto(|,.*)\)$`)

// reducesByRule reports whether model.reduce is jl(auto) or jl(auto,SEED), so that the rule of reducedFeatures sets the
// number of features. rest is the text between the word auto and the closing bracket: "" or a comma and a seed.
func (c *Config) reducesByRule() (rest string, ok bool) {
	if m := ruleText.FindStringSubmatch(strings.ReplaceAll(c.Model.Reduce, " ", "")); m != nil {
		return m[1], true
	}
	return "", false
}

// Reduction returns the projection that shortens rows; nil if the configuration has none. It returns an error
// for jl(auto), which For replaces by jl with a number.
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

// features returns the number of features of a row on which the model is trained. If model.reduce is set, it
// is the number after the projection, and a loss whose rows may not be projected is an error.
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

// reducible returns an error if rows may not be projected with the loss l. They may be projected only for
// generalised linear models.
func reducible(l loss.Loss) error {
	if loss.Count(loss.RowLoss(l)) == 0 {
		return fmt.Errorf("model.reduce: loss %s: must be of a generalised linear model", l.Name())
	}
	return nil
}

// reduced returns model.reduce with the number of reducedFeatures in place of auto. If that number is not
// below the number of the rows' features, reduced returns "" and a warning: rows keep all features. If
// model.reduce is not jl(auto), it is returned as it is. The schema must be final.
func (c *Config) reduced(budget account.Budget, records float64) (string, []Warning, error) {
	rest, ok := c.reducesByRule()
	if !ok {
		return c.Model.Reduce, nil, nil
	}
	if c.Inference != nil {
		return "", nil, errors.New("inference: model.reduce: must be left out: shortened rows have coefficients of their " +
			"own")
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
		return "", warn(WarnWhole, "model.reduce: jl(auto): rows keep their %d features: with %.0f records at this "+
			"budget the rule reduces to %d", d, records, k), nil
	}
	return fmt.Sprintf("jl(%d%s)", k, rest), nil, nil
}

// reducedFeatures returns the number k of features to which jl(auto) projects rows. k is that of Theorem 6
// (Arora et al. 2023),
//
//	k = ceil(min(argmin_j g(j) + L0 log(n)/sqrt(j), rank log(2n/delta))),
//
// and depends on public quantities only. n is the number of records, and L0, L1 and F0 are the loss's
// Lipschitz constant, smoothness and initial gap. g(j) is the gradient norm that the theory promises on
// records with j features. Let a = 2 sqrt(j margins)/(n mu). For convex losses g(j) is L0 a (recursive
// regularization, their Theorem 5; noisy gradient descent reaches it too). For other losses it is (sqrt(F0 L1
// L0) a)^(2/3) + L0 a (Private SpiderBoost, their Theorem 1). Constants that the theory leaves open are 1. L0
// log(n)/sqrt(j) is their bound on the increase of the gradient norm due to the projection. The rank of the
// rows is private, so the smaller of the number of features and the number of records replaces it.
//
// The theorem has 2 L0 and delta/2, for rows of norm up to 2 outside an event of probability delta/2. Here
// projected rows always have norm at most 1, so L0 and the whole delta are used. For convex losses both terms
// of the sum are proportional to L0, and the minimum is at j = log(n) n mu/(2 sqrt(margins)).
//
// Bisection finds the minimum, since the sum is convex in the logarithm of j: it falls up to its minimum and
// rises after it. reducedFeatures may return more features than the rows have.
func reducedFeatures(p optimize.Problem, delta float64) int {
	const most = 1 << 40 // larger than any number of features
	n, l0 := p.Records, p.Constants.Lipschitz
	sum := func(j int) float64 {
		a := 2 * math.Sqrt(float64(j*p.Shape.Margins)) / (n * p.Mu)
		g := l0 * a
		if !p.Convex() {
			g += math.Pow(math.Sqrt(p.Constants.InitialGap*p.Smoothness()*l0)*a, 2./3)
		}
		return g + l0*math.Log(n)/math.Sqrt(float64(j))
	}
	least := 1 + sort.Search(most-1, func(j int) bool { return sum(j+1) <= sum(j+2) })
	rank := min(float64(p.Shape.Features), n)
	return int(math.Ceil(min(float64(least), rank*math.Log(2*n/delta))))
}
