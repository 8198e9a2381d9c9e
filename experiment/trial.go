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
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/train"
)

// Trial is all that settles the outcome of a run.
type Trial struct {
	Family     string `json:"family"`
	FamilySeed uint64 `json:"family_seed"`
	Dim        int    `json:"dimension"`
	// Rows are distinct; each stands for Repeat records.
	Rows     int     `json:"rows"`
	Repeat   int     `json:"repeat"`
	Epsilon  float64 `json:"epsilon"`
	Delta    float64 `json:"delta"`
	Relation string  `json:"relation"`
	// Population is how many fresh rows the gradient is measured on; 0 for none.
	Population int `json:"population"`
	// Gap is the specification's; 0 for no eigenvalues.
	Gap   float64 `json:"gap,omitempty"`
	Label string  `json:"label"`
	// Settings are train.Train's, by YAML keys.
	Settings json.RawMessage `json:"settings"`
	// Seed settles all coins of the run.
	Seed uint64 `json:"seed"`
}

// Key identifies a trial: a digest of it.
func (c Trial) Key() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("experiment: trial: %v", err)) // settings that no grid made
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Tuning reports whether the run serves the choice of settings only.
func (c Trial) Tuning() bool { return c.Seed >= firstTuningSeed }

// Records is the number of records.
func (c Trial) Records() int { return c.Rows * c.Repeat }

func (c Trial) String() string {
	return fmt.Sprintf("%s on %s, d = %d, n = %d, epsilon = %g, %s", c.Label, c.Family, c.Dim, c.Records(), c.Epsilon, c.Settings)
}

// Finished is a finished run: a line of runs.jsonl.
type Finished struct {
	Key string `json:"key"`
	Trial
	Outcome Outcome `json:"outcome"`
	// Seconds is how long it took; unlike all else it differs between runs of
	// one trial.
	Seconds float64 `json:"seconds"`
}

// Run carries the configured run out.
func (c Trial) Run(ctx context.Context) (Finished, error) { return newBench().run(ctx, c) }

// run carries out a configured run.
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

// instance draws what the run is on.
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

// planned is a plan and whether its output is an iterate drawn by the run's
// seed: a plan's own coin for it does not repeat.
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
	t, err := decodeSettings(c.Settings)
	if err != nil {
		return planned{}, fmt.Errorf("experiment: %v: %w", c, err)
	}
	problem, err := s.Problem()
	problem.Seed = seed
	if err == nil {
		p.plan, _, err = t.Plan(ctx, problem)
	}
	// What has no rule for its output keeps its coin, such as the block of a theorem.
	ruled := slices.Contains(train.SettingsOf(t.Algorithm), "output")
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
	// Schedules of samples take long to calibrate and little to keep; others the
	// reverse.
	if p.plan.Needs().Schedule != nil {
		b.mu.Lock()
		b.plans[key] = p
		b.mu.Unlock()
	}
	return p, nil
}
