package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/internal/fitting"
	"github.com/stillpoint-dp/stillpoint/internal/rehearsal"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// privacyFlags override values in the configuration's section privacy.
type privacyFlags struct {
	Epsilon *float64 `help:"Override privacy.epsilon." placeholder:"E"`
	Delta   *float64 `help:"Override privacy.delta." placeholder:"D"`
}

type configFlags struct {
	Config string `arg:"" help:"Configuration file (YAML): table, schema, model, privacy." placeholder:"CONFIG"`
	privacyFlags
	Algorithm string `help:"Override train.algorithm." placeholder:"NAME"`
	shardFlags
}

func (f configFlags) read() (*train.Config, error) {
	shards, err := f.shards()
	if err != nil {
		return nil, err
	}
	c, err := train.ReadConfigOver(f.Config, shards)
	if err != nil {
		return nil, err
	}
	if f.Epsilon != nil {
		c.Privacy.Epsilon = f.Epsilon
	}
	if f.Delta != nil {
		c.Privacy.Delta = f.Delta
	}
	if f.Algorithm != "" {
		c.Train.Algorithm = f.Algorithm
	}
	collect(c.Memory)
	return c, nil
}

type fitCommand struct {
	configFlags
	Out       string `help:"Output folder. Without it a fresh one is made in the current folder: NAME-fit, NAME-fit-2, ..." placeholder:"DIR"`
	Overwrite bool   `help:"Replace the model in DIR. The charge of the earlier fit stays in the ledger."`
	Anyway    bool   `help:"Fit also where the effective size is below 30, at which a model is noise." env:"STILLPOINT_ANYWAY"`
	Verbose   bool   `help:"Print the optimizer's numbers as well: steps, charges, gradient norms, the algorithms not chosen." short:"v"`
	Attended  bool   `help:"With --shards, end as at Ctrl-C when standard input is closed, as it is when the program that runs this one ends."`
	DryRun    bool   `help:"Do all but the releases: read the table and plan, then print the charge and the files. Nothing is charged or written." name:"dry-run"`
	JSON      bool   `help:"Print JSON." name:"json"`
}

// Help returns the text that the help of the command prints below its flags.
func (fitCommand) Help() string {
	return `Reads the table into the curator, which alone sees rows; reserves the whole budget in
DIR/ledger.jsonl on stable storage; trains; and writes DIR/model.json and
DIR/certificate.json. Every printed number is public or was released with noise. --verbose
and --json add the plan, the optimizer's numbers and the algorithms not chosen.

Every fit charges a budget of its own, also on the same table: two fits at
epsilon 1 are not one fit at epsilon 1. The summary states the cost of all fits in the
output folders together. With budget: {store: ..., dataset: ...} in the configuration
a fit is also charged to a registered dataset. If the cap of the dataset does not cover
it, nothing is computed and the exit code is 3 (stillpoint budget --help).

--dry-run stops before the first release. It reads configuration and table, plans, and
asks the folder and the store of budgets whether they would take the fit, with the exit
codes of a fit. It prints nothing about records, charges nothing and writes nothing. Use
stillpoint check to see whether cells are read as you mean them.

A table too small for its budget is refused before anything is charged. If the effective
size N, records times mu over the root of the number of weights, is below 30, a model is
noise. --anyway, or STILLPOINT_ANYWAY=1, fits it all the same.

With --shards N the rows are in N workers, in other processes or on other machines
(stillpoint shard --help). The model is the same, to the bit, as that of one process with
the whole table. The configuration names no data: and gives table: a name. The key, in the
first line of standard input, is made for this fit alone (stillpoint shard --new-key). If
the schema has a unit, the unit's cell must decide a row's partition; with --progress=json
the fit names the column (event key) and then waits for its key. The fit prints its
address, waits until all shards are ready, and waits again if one is lost.

Ctrl-C ends the fit after the current step; the model reached by then is saved
and certified as incomplete. A fit that is killed leaves a journal of its releases in DIR,
from which stillpoint recover makes both files. A reservation stays in the ledger.`
}

func (f *fitCommand) Run(ctx context.Context, c *console) error {
	config, err := f.read()
	if err != nil {
		return err
	}
	if config.Shards != nil {
		stdin := bufio.NewReader(os.Stdin)
		c.tellUnit(config)
		if config.Shards.Key, err = awaitKey(ctx, stdin); err != nil {
			return err
		}
		c.tellShards(config.Shards)
		if f.Attended {
			var alone context.CancelFunc
			ctx, alone = context.WithCancel(ctx)
			defer alone()
			go func() {
				io.Copy(io.Discard, stdin)
				alone()
			}()
		}
	} else if f.Attended {
		return errors.New("--attended: is for --shards, which must be given with it")
	}
	if f.DryRun {
		return f.dry(ctx, c, config)
	}
	stopping := func() bool { return true }
	defer func() { stopping() }()
	p := newProgress(c, f.Verbose)
	c.note("reading", "reading "+reads(config))
	fitted, err := fitting.Fit(ctx, config, &runfolder.Out{Path: f.Out, Overwrite: f.Overwrite}, train.Options{
		Strict: !f.Anyway, Software: software(), Stores: stores.Open,
		Planned: func(planned train.Planned) {
			p.planned(planned)
			c.saving()
			stopping = context.AfterFunc(ctx, func() {
				c.note("stopping", "stopping; the model so far will be saved, unless a second Ctrl-C ends this at once")
			})
		},
		Step: p.step,
	})
	p.finish()
	if fitted == nil {
		return around(err)
	}
	if f.JSON {
		if printing := printJSON(c.out, result(context.WithoutCancel(ctx), config, fitted.Kept)); printing != nil {
			return printing
		}
	} else {
		text := fitted.Summary()
		if f.Verbose {
			text = fitted.Details()
		}
		fmt.Fprint(c.out, text)
	}
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted after %d of %d steps: the model reached is saved; the whole budget stays charged: %w",
			fitted.Run.Result.Steps, fitted.Run.Summary.Steps, err)
	}
	if err != nil {
		return &savedError{err}
	}
	return nil
}

// around returns err. If err is a *train.SmallError, the error for a table that is too small for its budget,
// around adds to its text that the flag --anyway allows the fit.
func around(err error) error {
	if _, small := errors.AsType[*train.SmallError](err); small {
		return fmt.Errorf("%w; --anyway fits all the same", err)
	}
	return err
}

// dry prints the plan, the charge and the files of a fit without running it.
func (f *fitCommand) dry(ctx context.Context, c *console, config *train.Config) error {
	c.note("reading", "reading "+reads(config))
	d, err := runfolder.DryRun(ctx, config, runfolder.Out{Path: f.Out, Overwrite: f.Overwrite},
		train.Options{Strict: !f.Anyway, Software: software(), Stores: stores.Open})
	if err != nil {
		return around(err)
	}
	if f.JSON {
		return printJSON(c.out, dryJSON(ctx, config, d))
	}
	_, err = fmt.Fprint(c.out, outline(d.Planned, f.Verbose), drySummary(ctx, config, d))
	return err
}

type planCommand struct {
	configFlags
	JSON     bool `help:"Print JSON." name:"json"`
	Verbose  bool `help:"Print the optimizer's numbers as well: steps, charges, predicted gradient norms, the algorithms not chosen." short:"v"`
	Simulate bool `help:"Also run every candidate on generated rows of the same number and width, and compare."`
}

// Help returns the text that the help of the command prints below its flags.
func (planCommand) Help() string {
	return `Foresees a fit: the rows that count, the protected unit, the share of the possible gain that
the noise will cost, a size that would halve it, the algorithm with the reason for its choice,
time and memory. --verbose adds the steps, the division of the budget, the expected gradient
norm, and the algorithms that were not chosen. The table is opened only to count its rows, which are public under
replace-one; with privacy.records in the configuration it is not opened at all.

Without train.algorithm every algorithm is planned. The plans are ranked by their
predicted gradient norm over the table, or by the goal of train.goal (population,
excess-risk), within train.passes passes over the table. The ranking uses public
numbers alone. --simulate tries it on generated rows, never on the table.

stillpoint algorithms NAME lists the settings of an algorithm.`
}

func (f *planCommand) Run(ctx context.Context, c *console) error {
	config, err := f.read()
	if err != nil {
		return err
	}
	planned, err := config.Plan(ctx)
	if err != nil {
		return err
	}
	var tried []rehearsal.Checked
	if f.Simulate {
		if tried, err = simulate(ctx, config, planned, c.err); err != nil {
			return err
		}
	}
	if f.JSON {
		return printJSON(c.out, planJSON(planned, tried))
	}
	_, err = fmt.Fprint(c.out, outline(planned, f.Verbose), comparison(planned, tried))
	return err
}
