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

// Help returns the text that the help of the command prints below its flags.
func (auditCommand) Help() string {
	return `Searches for breaches of the guarantee of this configuration by experiment. The loss,
budget, algorithm and settings are run on a generated table with the columns of the
schema; your table is not opened and need not exist.

One run is recorded. It is then replayed on neighbouring tables, which differ in one
record, with the released values of the recorded run. The record is random, malformed, the
worst one for the queries of the run, or found by a search:

  - questions, cohorts, charges, errors and the result must repeat bit by bit:
    nothing but noisy answers may depend on a record;
  - the exact answer to each question, before noise, may move by at most the
    sensitivity that was charged. The largest movement found is printed as a part
    of it: a figure above 1 is a violation, a figure near 1 says that
    the search found the worst rows.

Then the two worst tables are run N times each. An attack tells them apart by the released
numbers, which gives a lower bound on epsilon to set beside the claimed one.

An audit finds faults and cannot prove that there are none. The number of records is
scaled down to 1000 for speed. Exit code 1 means that a violation was found.`
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
	if a.JSON {
		err = printJSON(c.out, result)
	} else {
		_, err = fmt.Fprint(c.out, result)
	}
	if err != nil {
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
		if p.bar == nil {
			p.bar = newBar(p.w, of)
			p.bar.Describe("replays")
		}
		p.bar.ChangeMax(of)
		_ = p.bar.Set(done)
		return
	}
	if now := time.Now(); now.Sub(p.last) >= between {
		p.last = now
		fmt.Fprintf(p.w, "run %d of about %d\n", done, of)
	}
}
