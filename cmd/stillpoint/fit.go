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
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
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
		err = printJSON(c.out, planJSON(planned, tried))
	} else {
		_, err = fmt.Fprint(c.out, outline(planned, f.Verbose), comparison(planned, tried))
	}
	if err != nil {
		return err
	}
	return planned.Useless() // which fit refuses, too
}

// drySummary returns the lines that fit --dry-run prints below the plan: the charge and the files of the fit
// that was not run.
func drySummary(ctx context.Context, c *train.Config, d *runfolder.Dry) string {
	var b facts
	b.add("would charge", "the whole budget, in %s, before the first release", safetext.Text(d.Ledger))
	if d.Cost != nil {
		b.add("dataset", "%s: mu^2 of %.6g of its cap in the store", safetext.Text(c.Budget.Dataset), d.Cost.Charge)
	}
	b.add("would write", "%s, %s", safetext.Text(d.ModelPath), safetext.Text(d.CertificatePath))
	if len(d.Earlier) > 0 {
		b.add("together", "%s", d.Together(ctx))
	}
	b.add("dry run", "nothing was released, charged or written")
	return b.String()
}

// dryJSON returns the output of fit --dry-run --json: the plan, the charge and the files of the fit that was
// not run.
func dryJSON(ctx context.Context, c *train.Config, d *runfolder.Dry) any {
	j := struct {
		DryRun      bool   `json:"dry_run"`
		Plan        any    `json:"planned"`
		Ledger      string `json:"ledger"`
		Model       string `json:"model"`
		Certificate string `json:"certificate"`
		// Dataset and Charge are the dataset and the charge in the store of budgets; absent without a store.
		Dataset string  `json:"dataset,omitempty"`
		Charge  float64 `json:"charge,omitempty"`
		Earlier int     `json:"earlier_fits"`
		// Together is an epsilon, at this fit's delta, that holds for this fit and the earlier fits of the
		// table together; absent without earlier fits.
		Together float64 `json:"together,omitempty"`
	}{DryRun: true, Plan: planJSON(d.Planned, nil), Ledger: d.Ledger, Model: d.ModelPath, Certificate: d.CertificatePath,
		Earlier: len(d.Earlier)}
	if d.Cost != nil {
		j.Dataset, j.Charge = c.Budget.Dataset, d.Cost.Charge
	}
	if epsilon, ok := d.Sum(ctx); ok && len(d.Earlier) > 0 {
		j.Together = runfolder.RoundUp(epsilon)
	}
	return j
}
