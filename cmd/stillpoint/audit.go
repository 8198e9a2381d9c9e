package main

import (
	"context"
	"fmt"
	"time"

	"github.com/stillpoint-dp/stillpoint/internal/audit"
)

type auditCommand struct {
	configFlags
	Runs int  `help:"Runs of the attack on each of the two worst tables; 0 for none. More find more, and take longer." default:"200" placeholder:"N"`
	JSON bool `help:"Print JSON." name:"json"`
}

func (a *auditCommand) Run(ctx context.Context, c *console) error {
	if a.Runs < 0 || a.Runs > 0 && a.Runs < leastRuns {
		return fmt.Errorf("audit: --runs = %d: must be 0 or at least %d", a.Runs, leastRuns)
	}
	config, err := a.read()
	if err != nil {
		return err
	}
	p := newProgress(c, false)
	result, err := audit.RunConfig(ctx, config, audit.Options{Runs: a.Runs, Progress: p.replayed})
	p.finish()
	if err != nil {
		return err
	}
	if err := c.answer(a.JSON, result, result); err != nil {
		return err
	}
	return result.Err()
}

// leastRuns is the smallest number of runs on each table that the attack needs to choose a threshold and to
// test it.
const leastRuns = 20

// replayed shows the progress of an audit: the number of runs done, and the approximate number of all runs
// (of).
func (p *progress) replayed(done, of int) {
	if p.terminal {
		p.draw("replays ", done, of)
		return
	}
	if now := time.Now(); now.Sub(p.last) >= between {
		p.last = now
		fmt.Fprintf(p.w, "run %d of about %d\n", done, of)
	}
}
