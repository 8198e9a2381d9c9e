package main

import (
	"cmp"
	"context"
	_ "embed" // the text of the help
	"fmt"
	"io"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/lab/audit"
)

// configFlags are the flags of commands that read a configuration.
type configFlags struct {
	Config    string   `arg:"" help:"Configuration file (YAML): table, schema, model, privacy." placeholder:"CONFIG"`
	Epsilon   *float64 `help:"Override privacy.epsilon." placeholder:"E"`
	Delta     *float64 `help:"Override privacy.delta." placeholder:"D"`
	Algorithm string   `help:"Override train.algorithm." placeholder:"NAME"`
	Shards    int      `help:"Number of partitions of the table. With it the configuration need not name the table." placeholder:"N"`
}

type auditCommand struct {
	configFlags
	Runs int  `help:"Runs of the attack on each of the two worst tables; 0 for none. More find more, and take longer." default:"200" placeholder:"N"`
	JSON bool `help:"Print JSON." name:"json"`
}

//go:embed audit.txt
var auditHelp string

// Help returns the text that the help of the command prints below its flags.
func (auditCommand) Help() string { return auditHelp }

// read reads the configuration that the flags name, and overrides its values by those of the flags.
func (a configFlags) read() (*train.Config, error) {
	var shards *curator.Shards
	switch {
	case a.Shards < 0:
		return nil, fmt.Errorf("--shards = %d: must be >= 1", a.Shards)
	case a.Shards > 0:
		shards = &curator.Shards{Count: a.Shards}
	}
	config, err := train.ReadConfigOver(a.Config, shards)
	if err != nil {
		return nil, err
	}
	config.Privacy.Epsilon = cmp.Or(a.Epsilon, config.Privacy.Epsilon)
	config.Privacy.Delta = cmp.Or(a.Delta, config.Privacy.Delta)
	config.Train.Algorithm = cmp.Or(a.Algorithm, config.Train.Algorithm)
	return config, nil
}

func (a *auditCommand) Run(ctx context.Context, c *console) error {
	if a.Runs < 0 || a.Runs > 0 && a.Runs < leastRuns {
		return fmt.Errorf("audit: --runs = %d: must be 0 or at least %d", a.Runs, leastRuns)
	}
	config, err := a.read()
	if err != nil {
		return err
	}
	p := &replayProgress{w: c.err, last: time.Now()}
	result, err := audit.RunConfig(ctx, config, audit.Options{Runs: a.Runs, Progress: p.show})
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

// replayProgress prints how many runs of an audit are done, a line every two seconds at most.
type replayProgress struct {
	w    io.Writer
	last time.Time
}

// show prints the number of runs done and the approximate number of all runs (of).
func (p *replayProgress) show(done, of int) {
	if now := time.Now(); now.Sub(p.last) >= between {
		p.last = now
		fmt.Fprintf(p.w, "run %d of about %d\n", done, of)
	}
}
