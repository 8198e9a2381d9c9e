package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/internal/fitting"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/table"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/model"
)

// privacyFlags override values in the configuration's section privacy.
type privacyFlags struct {
	Epsilon *float64 `help:"Override privacy.epsilon." placeholder:"E"`
	Delta   *float64 `help:"Override privacy.delta." placeholder:"D"`
}

// override sets the values of the flags that are given in a configuration.
func (f privacyFlags) override(c *train.Config) {
	c.Privacy.Epsilon = cmp.Or(f.Epsilon, c.Privacy.Epsilon)
	c.Privacy.Delta = cmp.Or(f.Delta, c.Privacy.Delta)
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
	f.override(c)
	c.Train.Algorithm = cmp.Or(f.Algorithm, c.Train.Algorithm)
	collect(c.Memory)
	return c, nil
}

type fitCommand struct {
	configFlags
	Out       string `help:"Output folder. Without it a fresh one is made in the current folder: NAME-fit, NAME-fit-2, ..." placeholder:"DIR"`
	Overwrite bool   `help:"Replace the model in DIR. The charge of the earlier fit stays in the ledger."`
	Anyway    bool   `help:"Fit even if the effective size is below 30, so that the model is mostly noise." env:"STILLPOINT_ANYWAY"`
	Verbose   bool   `help:"Print the optimizer's numbers as well: steps, charges, gradient norms, the algorithms not chosen." short:"v"`
	Attended  bool   `help:"With --shards, stop as at Ctrl-C when standard input is closed, which happens when the calling program ends."`
	DryRun    bool   `help:"Read the table, plan, and print the charge and the files, without releases. Nothing is charged or written." name:"dry-run"`
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
		err = fmt.Errorf("interrupted after %d of %d steps: the model of these steps is saved; the whole budget stays charged: %w",
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
	return c.answer(f.JSON, dryJSON(ctx, config, d), outline(d.Planned, f.Verbose), drySummary(ctx, config, d))
}

type planCommand struct {
	configFlags
	JSON     bool `help:"Print JSON." name:"json"`
	Verbose  bool `help:"Print the optimizer's numbers as well: steps, charges, predicted gradient norms, the algorithms not chosen." short:"v"`
	Simulate bool `hidden:"" help:"Moved to the laboratory."`
}

func (f *planCommand) Run(ctx context.Context, c *console) error {
	if f.Simulate {
		return moved("plan --simulate", "simulate")
	}
	config, err := f.read()
	if err != nil {
		return err
	}
	planned, err := config.Plan(ctx)
	if err != nil {
		return err
	}
	if err := c.answer(f.JSON, planJSON(planned), outline(planned, f.Verbose)); err != nil {
		return err
	}
	return planned.Useless() // which fit refuses with every option
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
	}{DryRun: true, Plan: planJSON(d.Planned), Ledger: d.Ledger, Model: d.ModelPath, Certificate: d.CertificatePath,
		Earlier: len(d.Earlier)}
	if d.Cost != nil {
		j.Dataset, j.Charge = c.Budget.Dataset, d.Cost.Charge
	}
	if epsilon, ok := d.Sum(ctx); ok && len(d.Earlier) > 0 {
		j.Together = runfolder.RoundUp(epsilon)
	}
	return j
}

// reads returns the table's name for messages: its files, or its public name if it comes from shards or
// standard input.
func reads(c *train.Config) string {
	switch {
	case c.Shards != nil:
		return fmt.Sprintf("%s in %d shards", c.TableName(), c.Shards.Count)
	case c.DataPath() == table.Standard:
		return c.TableName() + " from standard input"
	}
	return c.DataPath()
}

// fittedJSON is the output of fit --json. It has the facts of the text summary.
type fittedJSON struct {
	Folder      string `json:"folder"`
	Model       string `json:"model"`
	Certificate string `json:"certificate"`
	Complete    bool   `json:"complete"`
	Algorithm   string `json:"algorithm"`
	Steps       int    `json:"steps"`
	Of          int    `json:"of"`
	// Family is the family of the model: where a class is rare, a simpler one than that of the plan.
	Family train.Family `json:"family"`

	Records float64 `json:"records"`
	account.Guarantee
	Neighbour string `json:"neighbour"`
	Protects  string `json:"protects"`
	// Charged and Budget are in units of mu^2. Charged is zero for a fit on a schedule of Poisson samples.
	Charged  float64  `json:"charged"`
	Budget   float64  `json:"budget"`
	Releases int      `json:"releases"`
	Trusted  []string `json:"trusted,omitempty"`
	// Warnings are the facts that a user of the model must know, as in the model's file.
	Warnings []train.Warning `json:"warnings,omitempty"`
	// Compared is the comparison of the model with the best constant. Verdict is its result: better, unclear
	// or worse.
	Compared *train.Compared `json:"compared,omitempty"`
	// Comparison is the comparison in one sentence. Saved is the share of the constant's loss that the fit saves, or
	// of times the explained randomness; absent unless it is better, and for counts.
	Comparison string `json:"comparison,omitempty"`
	Saved      *saved `json:"saved,omitempty"`
	// Coefficients are the coefficients with confidence intervals, and the formula to which they belong.
	Coefficients *model.Coefficients `json:"coefficients,omitempty"`
	Verdict      string              `json:"verdict,omitempty"`
	Measured     any                 `json:"measured,omitempty"` // as in a certificate
	// Constant states public bounds on the loss of the model that gives every record the score 0. The
	// measured loss can be compared with them.
	Constant any `json:"constant,omitempty"`
	// Curvature is the released least curvature at the result along public directions, as a certificate
	// states it.
	Curvature any `json:"curvature,omitempty"`
	// SelectedNorm is the released gradient norm at the result of algorithm o2nc, as a certificate states it.
	SelectedNorm any `json:"looked,omitempty"`
	// Stored is the row of the store of budgets that reserves the fit's budget; absent without a store.
	Stored any `json:"stored,omitempty"`
	// Table is the table's name for messages. Earlier is the number of earlier fits of the table that the
	// output folders have. Together is an epsilon, at Delta, that holds for this fit and the earlier fits
	// together; it is absent if none could be computed.
	Table    string   `json:"table"`
	Earlier  int      `json:"earlier"`
	Together *float64 `json:"together,omitempty"`
}

// saved is a share of the constant's loss, with the ends of its 95% interval.
type saved struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// given returns nil without a type for a nil pointer, so that JSON leaves it out.
func given[T any](p *T) any {
	if p == nil {
		return nil
	}
	return p
}

func result(ctx context.Context, c *train.Config, f *runfolder.Fitted) fittedJSON {
	j := fittedJSON{
		Folder: f.Folder, Model: f.ModelPath, Certificate: f.CertificatePath, Complete: f.Result.Complete,
		Algorithm: f.Summary.Algorithm, Steps: f.Result.Steps, Of: f.Summary.Steps, Family: f.Family,
		Records: f.Records, Guarantee: f.Budget.Guarantee(f.Unit.Column),
		Neighbour: f.Unit.Neighbour(f.Filter, f.Budget.Relation()),
		Protects:  f.Unit.Protects(f.Filter, f.Budget.Relation()),
		Charged:   f.Charged, Budget: f.Budget.Charge(), Releases: f.Releases, Trusted: f.Trusted,
		Table: c.TableName(), Earlier: len(f.Earlier),
	}
	j.Warnings, j.Stored = f.Warnings, given(f.Reserved)
	if f.Fitted.Model != nil && f.Fitted.Model.Inference() != nil {
		j.Coefficients, _ = f.Fitted.Model.Coefficients()
	}
	if j.Compared = f.Compared; f.Compared != nil {
		j.Verdict, j.Comparison = f.Compared.Verdict().Code(), f.Compared.Sentence()
		if share, low, high, ok := f.Compared.Explained(); ok {
			j.Saved = &saved{share, low, high}
		}
	}
	j.Measured, j.Constant = given(f.Measured), given(f.Constant)
	j.Curvature, j.SelectedNorm = given(f.Result.Curvature), given(f.Result.SelectedNorm)
	if epsilon, ok := f.Sum(ctx); ok {
		j.Together = &epsilon
	}
	return j
}

type recoverCommand struct {
	Dir       string `arg:"" help:"Output folder of the fit that did not end." placeholder:"DIR"`
	Overwrite bool   `help:"Replace the files of an earlier fit in DIR by those of the one that did not end."`
}

func (r *recoverCommand) Run(ctx context.Context, c *console) error {
	saved, err := runfolder.Recover(ctx, r.Dir, runfolder.RecoverOptions{Overwrite: r.Overwrite, Stores: stores.Open})
	if saved != nil {
		_, failed := fmt.Fprint(c.out, recovered(saved))
		err = errors.Join(failed, err)
	}
	return err
}

// recovered returns a text with the files and the charge of the fit that was recovered, if it left files, and with the
// settlements of runs with stores of budgets.
func recovered(r *runfolder.Recovered) string {
	var b facts
	if r.Files {
		b.recovered(r)
	}
	for _, s := range r.Settlements {
		b.add("store", "%v", s)
	}
	return b.String()
}

func (b *facts) recovered(r *runfolder.Recovered) {
	switch {
	case r.Complete:
		b.add("recovered", "fit %d of %s: it had ended before its files were in their places", r.Fit, r.Folder)
	case r.Step > 0:
		b.add("incomplete", "fit %d of %s: the model is that of step %d of %d", r.Fit, r.Folder, r.Step, r.Steps)
	default:
		b.add("incomplete", "fit %d of %s", r.Fit, r.Folder)
	}
	b.add("model", "%s", cmp.Or(r.ModelPath, "none: no iterate had been released"))
	b.add("certificate", "%s", r.CertificatePath)
	b.add("guarantee", "%s", r.Budget.Guarantee(r.Unit.Column).Text())
	b.add("released", "at least %.6g of %.6g (units of mu^2), in %d noisy answers (releases) of the journal",
		r.Charged, r.Budget.Charge(), r.Releases)
	b.add("ledger", "keeps the whole budget of this fit, in %s", filepath.Join(r.Folder, runfolder.LedgerFile))
	if r.Damaged > 0 {
		b.add("WARNING", "line %d of the journal is damaged or cut off: the releases after it are not known", r.Damaged)
	}
	b.add("recheck", "stillpoint verify %s", r.CertificatePath)
}

type ledgerCommand struct {
	Folders []string `arg:"" help:"Output folders of fits, or folders that hold some." placeholder:"DIR"`
	Delta   float64  `help:"Delta at which the costs are added up; without it the largest delta of a table's fits." placeholder:"D"`
	JSON    bool     `help:"Print JSON." name:"json"`
}

func (l *ledgerCommand) Run(ctx context.Context, c *console) error {
	totals, err := runfolder.Totals(ctx, l.Folders, l.Delta)
	if err != nil {
		return err
	}
	if l.JSON {
		return printJSON(c.out, totals)
	}
	for _, t := range totals {
		unit := ""
		if t.Unit != "" {
			unit = ", for all rows of one " + safetext.Text(t.Unit)
		}
		fmt.Fprintf(c.out, "%s: %s, together epsilon %.4g at delta %v under %v%s\n", safetext.Text(t.Table),
			counted(t.Fits, "fit"), runfolder.RoundUp(t.Epsilon), t.Delta, t.Relation, unit)
	}
	return nil
}
