package train

import (
	"context"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// LossesOf returns the losses, as Losses writes them, that an algorithm with its default settings plans a fit of, and
// those that it refuses. They are found by planning: for 100,000 records of 10 features at epsilon 1, without a
// regularizer and without a radius. A network counts as a loss, as network(16,tanh,logistic). For an unknown name both
// lists are empty.
func LossesOf(ctx context.Context, name string) (takes, refuses []string, err error) {
	i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == name })
	if i < 0 {
		return nil, nil, nil
	}
	budget, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		return nil, nil, err
	}
	texts := []string{"network(16,tanh,logistic)"}
	for _, l := range Losses() {
		texts = append(texts, l.Text)
	}
	for _, text := range texts {
		l, err := loss.Parse(text)
		if err != nil {
			return nil, nil, err
		}
		p, err := optimize.NewProblem(l, budget, optimize.Stated(loss.RecordFeatures(l, 10), 100_000))
		if err != nil {
			return nil, nil, err
		}
		if _, err := algorithms[i].zero.Plan(ctx, p); err != nil {
			refuses = append(refuses, text)
			continue
		}
		takes = append(takes, text)
	}
	return takes, refuses, ctx.Err()
}
