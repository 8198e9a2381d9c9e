package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Trial holds everything that determines the outcome of a run. A run can be repeated from its trial.
type Trial struct {
	Family     string `json:"family"`
	FamilySeed uint64 `json:"family_seed"`
	Dim        int    `json:"dimension"`
	// Rows is the number of distinct rows.
	Rows int `json:"rows"`
	// Repeat is the number of records that each distinct row stands for.
	Repeat int `json:"repeat"`
	// Epsilon, Delta and Relation determine the run's budget. They are stored in place of an
	// account.Guarantee, which also has mu, because Key is a digest of this JSON: other members would give
	// recorded runs other keys.
	Epsilon  float64 `json:"epsilon"`
	Delta    float64 `json:"delta"`
	Relation string  `json:"relation"`
	// Population is the number of fresh rows on which the gradient is measured, too. 0 means none.
	Population int `json:"population"`
	// Gap is the Gap of the specification (see [Spec]). 0 means that no eigenvalues are computed.
	Gap   float64 `json:"gap,omitempty"`
	Label string  `json:"label"`
	// Settings is a JSON object of settings of train.Train or of an algorithm of Options.Algorithms, by their
	// YAML keys.
	Settings json.RawMessage `json:"settings"`
	// Seed determines all random bits of the run.
	Seed uint64 `json:"seed"`
	// Code is a digest of the program if the algorithm is one of Options.Algorithms, and "" for algorithms of
	// package train. A recorded run with the digest of another program is not used as a result of this
	// program's algorithm.
	Code string `json:"code,omitempty"`
}

// trialKey returns the key of the trial without the program's digest. Runs of the same trial by different
// programs have the same trialKey.
func (c Trial) trialKey() string {
	c.Code = ""
	return c.Key()
}

// Key returns a digest that identifies the trial.
func (c Trial) Key() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("experiment: trial: %v", err)) // Settings is valid JSON, since grid made it
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Tuning reports whether the run is only used to choose settings.
func (c Trial) Tuning() bool { return c.Seed >= firstTuningSeed }

// Records is the number of records.
func (c Trial) Records() int { return c.Rows * c.Repeat }

func (c Trial) String() string {
	return fmt.Sprintf("%s on %s, d = %d, n = %d, epsilon = %g, %s", c.Label, c.Family, c.Dim, c.Records(), c.Epsilon,
		c.Settings)
}

// Finished is a finished run: a line of the file runs.jsonl. Key is the key of the trial.
type Finished struct {
	Key string `json:"key"`
	Trial
	Outcome Outcome `json:"outcome"`
	// Seconds is the duration of the run in seconds. It is the only field that differs between runs of the
	// same trial.
	Seconds float64 `json:"seconds"`
}

// Run carries out the trial.
func (c Trial) Run(ctx context.Context) (Finished, error) { return newBench().run(ctx, c) }

// run carries out a trial. It uses the families and plans that the bench has cached.
func (b *bench) run(ctx context.Context, c Trial) (Finished, error) {
	s, err := b.instance(c)
	if err != nil {
		return Finished{}, err
	}
	p, err := b.plan(ctx, c, s)
	if err != nil {
		return Finished{}, err
	}
	start := time.Now()
	o, err := s.run(ctx, p.plan, p.random, c.Seed)
	if err != nil {
		return Finished{}, fmt.Errorf("experiment: %v, seed %d: %w", c, c.Seed, err)
	}
	return Finished{Key: c.Key(), Trial: c, Outcome: o, Seconds: time.Since(start).Seconds()}, nil
}

// instance returns the instance of a trial: its family, number of records, budget and fresh rows.
func (b *bench) instance(c Trial) (Instance, error) {
	relation, err := account.ParseRelation(c.Relation)
	if err != nil {
		return Instance{}, err
	}
	s := Instance{Repeat: c.Repeat, Gap: c.Gap}
	if s.Budget, err = account.NewBudget(c.Epsilon, c.Delta, relation); err != nil {
		return Instance{}, err
	}
	if s.Family, s.Fresh, err = b.family(c); err != nil {
		return Instance{}, err
	}
	return s, nil
}

// planned is a plan that several runs may share. If random is true, the result that is measured must be an
// iterate drawn by each run's own seed, since a random choice in the plan would be the same in all runs.
type planned struct {
	plan   optimize.Plan
	random bool
}

func (b *bench) plan(ctx context.Context, c Trial, s Instance) (planned, error) {
	seed := c.Seed
	c.Seed = 0
	key := c.Key()
	b.mu.Lock()
	p, ok := b.plans[key]
	b.mu.Unlock()
	if ok {
		return p, nil
	}
	if a, err := b.own.decode(c.Settings); a != nil || err != nil {
		return b.ownPlan(ctx, a, c, s, seed, err)
	}
	t, err := decodeSettings(c.Settings)
	if err != nil {
		return planned{}, fmt.Errorf("experiment: %v: %w", c, err)
	}
	problem, err := s.Problem()
	problem.Seed = seed
	if err == nil {
		p.plan, _, err = t.Plan(ctx, problem)
	}
	// Algorithms without the setting "output" make their random choices themselves, such as the random block
	// of o2nc with theorem.
	ruled := slices.ContainsFunc(train.HelpOf(t.Algorithm), func(s train.Setting) bool { return s.Key == "output" })
	if err == nil && ruled && p.plan.Needs().PublicCoins && !p.plan.Properties().EndsEarly {
		p.random = true
		if err := t.Set(map[string]any{"output": optimize.Last.String()}); err != nil {
			return planned{}, err
		}
		p.plan, _, err = t.Plan(ctx, problem)
	}
	if err != nil {
		return planned{}, fmt.Errorf("experiment: %v: %w", c, err)
	}
	// Only plans with a schedule of samples are cached: they take long to calibrate and little
	// memory. Other plans take little time and more memory.
	if p.plan.Needs().Schedule != nil {
		b.mu.Lock()
		b.plans[key] = p
		b.mu.Unlock()
	}
	return p, nil
}
