package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
)

type accountCommand struct {
	NoiseMultiplier float64   `help:"Noise on the sum over the clip norm of a record (sigma/C)." placeholder:"Z"`
	Sampling        float64   `help:"Probability with which a record joins a batch; 1 for all records." default:"1" placeholder:"Q"`
	Records         int       `help:"With --batch, instead of --sampling: batches of exactly M of N records." placeholder:"N"`
	Batch           int       `help:"Size of a batch of fixed size." placeholder:"M"`
	Steps           int       `help:"Number of releases." default:"1" placeholder:"T"`
	Relation        string    `help:"Neighbouring tables: replace-one or add-or-remove." placeholder:"RELATION"`
	Events          string    `help:"Releases from a JSON file instead of the flags above; with --calibrate, beside them." placeholder:"FILE"`
	Group           int       `help:"Guarantee for groups of K records changed together, such as one person's rows." default:"1" placeholder:"K"`
	Delta           []float64 `help:"Bracket epsilon at each of these deltas." placeholder:"D,..."`
	Epsilon         []float64 `help:"Bracket delta at each of these epsilons." placeholder:"E,..."`
	Calibrate       string    `help:"Find the least noise, the most steps or the largest sampling within one --epsilon and one --delta." placeholder:"noise|steps|sampling"`
	Curve           bool      `help:"Bracket delta over the whole range of epsilon as well."`
	Width           float64   `help:"Relative width of the bracket asked for." default:"0.001" placeholder:"W"`
	JSON            bool      `help:"Print JSON." name:"json"`
	Plot            string    `help:"Draw delta over epsilon as SVG, the only format." placeholder:"FILE.svg"`
}

// Help returns the text that the help of the command prints below its flags.
func (accountCommand) Help() string {
	return `Computes the privacy cost of a sequence of releases, without any data: a certified bracket
from privacy-loss distributions, and the bounds of other accountants. Claim the upper end.

  stillpoint account --noise-multiplier 1.5 --sampling 0.04 --steps 2250 \
      --relation add-or-remove --delta 1e-5,1e-6

The noise multiplier is sigma/C with C the largest norm of one record's
contribution, under both relations: replacing a record moves a sum by up to 2C,
and that is accounted for here. Batches of a fixed size need replace-one:

  stillpoint account --noise-multiplier 3 --records 50000 --batch 500 --steps 300 \
      --relation replace-one --delta 1e-6

--calibrate finds the largest or least parameter within a budget, rounded to the private
side, and checks it:

  stillpoint account --calibrate noise --sampling 0.04 --steps 2250 \
      --relation add-or-remove --epsilon 2 --delta 1e-5
  stillpoint account --calibrate steps --noise-multiplier 1.5 --sampling 0.04 \
      --relation add-or-remove --epsilon 2 --delta 1e-5 --events already.json
  stillpoint account --calibrate sampling --noise-multiplier 1.5 --steps 2250 \
      --relation add-or-remove --epsilon 2 --delta 1e-5

An events file lists releases of several kinds; count is the number of times:

  {"relation": "replace-one", "events": [
    {"kind": "gaussian", "noise_multiplier": 20, "count": 3},
    {"kind": "sampled-gaussian", "noise_multiplier": 1.5, "sampling": 0.04, "count": 2250},
    {"kind": "fixed-size-gaussian", "noise_multiplier": 3, "records": 50000, "batch": 500, "count": 300},
    {"kind": "discrete-gaussian", "sigma": 40, "sensitivity": 2, "count": 10},
    {"kind": "tree", "noise_multiplier": 12, "items": 1024, "participations": 4, "separation": 256, "count": 1},
    {"kind": "toeplitz", "noise_multiplier": 8, "items": 1024, "bands": 256, "count": 1},
    {"kind": "laplace", "scale": 20, "count": 1},
    {"kind": "randomized-response", "p": 0.49, "count": 1},
    {"kind": "pure", "epsilon": 0.01, "count": 1},
    {"kind": "selection", "epsilon": 0.02, "count": 1}]}

gaussian: noise over the sensitivity under the relation. sampled-gaussian,
fixed-size-gaussian, tree, toeplitz: sigma/C as above. discrete-gaussian: one whole
number. tree, toeplitz: all prefix sums of a number of items (DP-FTRL); a record is
in at most so many, so far apart; a tree begun anew for each pass is one event with
the number of passes as count. laplace: scale over the l1 sensitivity. selection: the
range, as of the exponential mechanism's weights exp(epsilon score/(2 sensitivity)).
gaussian-mixture (add-or-remove; noise_multiplier, weights, offsets): a secret random
sensitivity.

The best of a random number of runs, as when hyperparameters are chosen, is

  {"kind": "repeat-and-select", "repetitions": "geometric", "mean": 20, "count": 1,
   "events": [{"kind": "sampled-gaussian", "noise_multiplier": 2, "sampling": 0.01, "count": 1000}]}

with repetitions poisson, geometric, logarithmic or negative-binomial (and its
shape). It is counted by Renyi orders alone, under add-or-remove if a run samples.

--json prints an object with
  relation, neighbours, group   the scope of the guarantee
  releases                      [{mechanism, count}]
  assumptions                   the assumptions, in words
  results                       one for each question and accountant:
    accountant                  pld, rdp or zcdp
    kind                        bracket, upper-bound, or none beside an error
    delta, epsilon_lower, epsilon_upper   for a delta asked (lower for a bracket)
    epsilon, delta_lower, delta_upper     for an epsilon asked
  curve                         with --curve: [{epsilon, delta_lower, delta_upper}]
  calibrated                    with --calibrate: parameter, value, epsilon, delta
and, at the top, the fields of the first result again.`
}

func (a *accountCommand) Run(ctx context.Context, c *console) error {
	if err := a.check(); err != nil {
		return err
	}
	report, events, err := a.releases(ctx)
	if err != nil {
		return err
	}
	composition, refused := mechanism.Compose(ctx, events, a.Width)
	report.Results, err = a.ask(ctx, composition, refused, events)
	if err != nil {
		return err
	}
	if len(report.Results) > 0 {
		report.answer = &report.Results[0]
	}
	if a.Curve || a.Plot != "" {
		if refused != nil {
			return fmt.Errorf("curve: %w", refused)
		}
	}
	if a.Curve {
		if report.Curve, err = curve(ctx, composition); err != nil {
			return err
		}
	}
	if a.Plot != "" {
		if err := plotCurve(ctx, a.Plot, composition); err != nil {
			return err
		}
	}
	if a.JSON {
		return printJSON(c.out, report)
	}
	report.print(c.out)
	return nil
}

// check returns an error if flags contradict each other, a required flag is missing, or a flag's value is not
// one of its names.
func (a *accountCommand) check() error {
	if err := checkPicture(a.Plot); err != nil {
		return err
	}
	switch a.Calibrate {
	case "":
		switch {
		case len(a.Delta) > 0 && len(a.Epsilon) > 0:
			return errors.New("account: give either --delta or --epsilon; both are for --calibrate")
		case len(a.Delta)+len(a.Epsilon) == 0 && !a.Curve:
			return errors.New("account: give either --delta or --epsilon, or --curve")
		}
	case "noise", "steps", "sampling":
		if len(a.Delta) != 1 || len(a.Epsilon) != 1 {
			return errors.New("account: --calibrate needs one --epsilon and one --delta")
		}
	default:
		return fmt.Errorf("account: calibrate = %q: must be noise, steps or sampling", a.Calibrate)
	}
	switch {
	case a.Calibrate == "noise" && a.NoiseMultiplier != 0:
		return errors.New("account: --calibrate noise finds --noise-multiplier: leave it out")
	case a.Calibrate == "steps" && a.Steps != 1:
		return errors.New("account: --calibrate steps finds --steps: leave it out")
	case a.Calibrate == "sampling" && (a.Sampling != 1 || a.Batch != 0):
		return errors.New("account: --calibrate sampling finds --sampling or --batch: leave it out")
	case a.Records != 0 && a.Sampling != 1:
		return errors.New("account: --records and --batch stand instead of --sampling")
	case a.Batch != 0 && a.Records == 0, a.Records != 0 && a.Batch == 0 && a.Calibrate != "sampling":
		return errors.New("account: --records and --batch go together")
	case a.Events != "" && a.Calibrate == "" && (a.NoiseMultiplier != 0 || a.Relation != "" || a.Records != 0):
		return errors.New("account: --events stands instead of --noise-multiplier, --records and --relation")
	}
	return nil
}

// releases returns the releases that the flags and the file of --events describe, for their composition:
// mechanisms with the number of times each is used. With --calibrate it computes the unknown parameter, such
// as the noise multiplier, first.
func (a *accountCommand) releases(ctx context.Context) (*accountReport, []mechanism.Composed, error) {
	report := &accountReport{Group: a.Group}
	var events []mechanism.Composed
	if a.Events != "" {
		text, err := regularfile.Read(a.Events, regularfile.Document)
		if err != nil {
			return nil, nil, err
		}
		plan, err := mechanism.DecodeEventFile(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", a.Events, err)
		}
		if events, err = grouped(plan.Events, a.Group); err != nil {
			return nil, nil, err
		}
		report.Relation = plan.Relation
	}
	if a.Events == "" || a.Calibrate != "" {
		if a.Relation == "" {
			return nil, nil, errors.New("account: --relation must be given: replace-one or add-or-remove")
		}
		relation, err := account.ParseRelation(a.Relation)
		if err != nil {
			return nil, nil, err
		}
		if report.Relation.Valid() && report.Relation != relation {
			return nil, nil, fmt.Errorf("account: relation = %v: must be that of %s, %v", relation, a.Events, report.Relation)
		}
		report.Relation = relation
		if a.Calibrate != "" {
			if report.Calibrated, err = a.calibrate(ctx, relation, events); err != nil {
				return nil, nil, err
			}
		}
		own, err := a.own(relation)
		if err != nil {
			return nil, nil, err
		}
		events = append(events, own...)
	}
	report.describe(events)
	return report, events, nil
}

// own returns the releases that the flags describe, without the releases in the file of --events.
func (a *accountCommand) own(relation account.Relation) ([]mechanism.Composed, error) {
	if a.Steps < 1 {
		return nil, fmt.Errorf("account: steps = %d: must be >= 1", a.Steps)
	}
	var m mechanism.Mechanism
	var err error
	switch {
	case a.Records == 0:
		m, err = mechanism.NewSampledGaussian(a.NoiseMultiplier, a.Sampling, relation)
	case relation != account.ReplaceOne:
		return nil, fmt.Errorf("account: relation = %v: batches of a fixed size need replace-one", relation)
	default:
		m, err = mechanism.NewFixedSizeGaussian(a.NoiseMultiplier, a.Records, a.Batch)
	}
	if err != nil {
		return nil, err
	}
	return grouped([]mechanism.Composed{{Mechanism: m, Count: a.Steps}}, a.Group)
}

func grouped(events []mechanism.Composed, k int) ([]mechanism.Composed, error) {
	out := make([]mechanism.Composed, len(events))
	for i, e := range events {
		m, err := mechanism.Group(e.Mechanism, k)
		if err != nil {
			return nil, err
		}
		out[i] = mechanism.Composed{Mechanism: m, Count: e.Count}
	}
	return out, nil
}
