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

// Trial holds everything that determines the outcome of a run.
type Trial struct {
	Family     string `json:"family"`
	FamilySeed uint64 `json:"family_seed"`
	Dim        int    `json:"dimension"`
	// Rows is the number of distinct rows.
	Rows int `json:"rows"`
	// Repeat is the number of records that each distinct row stands for.
	Repeat   int     `json:"repeat"`
	Epsilon  float64 `json:"epsilon"`
	Delta    float64 `json:"delta"`
	Relation string  `json:"relation"`
	// Population is the number of fresh rows on which the gradient is measured; 0 for none.
	Population int `json:"population"`
	// Gap is that of the specification; 0 for no eigenvalues.
	Gap   float64 `json:"gap,omitempty"`
	Label string  `json:"label"`
	// Settings are settings of train.Train by YAML keys.
	Settings json.RawMessage `json:"settings"`
	// Seed determines all random bits of the run.
	Seed uint64 `json:"seed"`
}

// Key returns a digest that identifies the trial.
func (c Trial) Key() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("experiment: trial: %v", err)) // settings are JSON, since grid made them
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Tuning reports whether the run only serves the choice of settings.
func (c Trial) Tuning() bool { return c.Seed >= firstTuningSeed }

// Records is the number of records.
func (c Trial) Records() int { return c.Rows * c.Repeat }

func (c Trial) String() string {
	return fmt.Sprintf("%s on %s, d = %d, n = %d, epsilon = %g, %s", c.Label, c.Family, c.Dim, c.Records(), c.Epsilon, c.Settings)
}

// Finished is a finished run, a line of runs.jsonl.
type Finished struct {
	Key string `json:"key"`
	Trial
	Outcome Outcome `json:"outcome"`
	// Seconds is the duration of the run. It is the only field that differs between runs of one
	// trial.
	Seconds float64 `json:"seconds"`
}

// Run carries out the trial.
func (c Trial) Run(ctx context.Context) (Finished, error) { return newBench().run(ctx, c) }

// run carries out a trial.
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

// instance returns the trial's family at its size and budget.
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

// planned is a plan. random means that the run's seed draws the resulting iterate, since all runs
// of a cached plan would use the same iterate of the plan's own draw.
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
	// Algorithms without the setting output keep their own random choice, such as the block of a
	// theorem.
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
	// Only plans with a schedule of samples are cached: they take long to calibrate and little
	// memory. Other plans take little time and more memory.
	if p.plan.Needs().Schedule != nil {
		b.mu.Lock()
		b.plans[key] = p
		b.mu.Unlock()
	}
	return p, nil
}
