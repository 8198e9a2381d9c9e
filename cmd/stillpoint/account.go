package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
)

type accountCommand struct {
	NoiseMultiplier float64   `help:"Noise on the sum over the clip norm of a record (sigma/C)." placeholder:"Z"`
	Sampling        float64   `help:"Probability with which a record joins a batch; 1 for all records." default:"1" placeholder:"Q"`
	Records         int       `help:"Number of all records, with --batch and in place of --sampling: each batch has exactly M of N." placeholder:"N"`
	Batch           int       `help:"Number of records in each batch, with --records." placeholder:"M"`
	Steps           int       `help:"Number of releases." default:"1" placeholder:"T"`
	Relation        string    `help:"Neighbouring tables: replace-one or add-or-remove." placeholder:"RELATION"`
	Events          string    `help:"Releases from a JSON file instead of the flags above; with --calibrate, in addition to them." placeholder:"FILE"`
	Group           int       `help:"Guarantee for groups of K records changed together, such as one person's rows." default:"1" placeholder:"K"`
	Delta           []float64 `help:"Bracket epsilon at each of these deltas." placeholder:"D,..."`
	Epsilon         []float64 `help:"Bracket delta at each of these epsilons." placeholder:"E,..."`
	Calibrate       string    `help:"Find the least noise, the most steps or the largest sampling within one --epsilon and one --delta." placeholder:"noise|steps|sampling"`
	Curve           bool      `help:"Bracket delta over the whole range of epsilon as well."`
	Width           float64   `help:"Requested relative width of the bracket." default:"0.001" placeholder:"W"`
	JSON            bool      `help:"Print JSON." name:"json"`
	Plot            string    `help:"Draw delta over epsilon as SVG, the only format." placeholder:"FILE.svg"`
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
	if refused != nil && (a.Curve || a.Plot != "") {
		return fmt.Errorf("curve: %w", refused)
	}
	if a.Curve {
		if report.Curve, err = curve(ctx, composition, curvePoints); err != nil {
			return err
		}
	}
	if a.Plot != "" {
		if err := plotCurve(ctx, a.Plot, composition); err != nil {
			return err
		}
	}
	return c.answer(a.JSON, report, report.text())
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
			return errors.New("account: give either --delta or --epsilon; --calibrate alone takes both")
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
		return errors.New("account: --records and --batch take the place of --sampling")
	case a.Batch != 0 && a.Records == 0, a.Records != 0 && a.Batch == 0 && a.Calibrate != "sampling":
		return errors.New("account: --records and --batch must be given together")
	case a.Events != "" && a.Calibrate == "" && (a.NoiseMultiplier != 0 || a.Relation != "" || a.Records != 0):
		return errors.New("account: --events takes the place of --noise-multiplier, --records and --relation")
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

// calibrated is the parameter of the releases that --calibrate asks for, such as the noise multiplier, with
// its computed value.
type calibrated struct {
	Parameter string  `json:"parameter"`
	Value     float64 `json:"value"`
	// Epsilon and Delta are the goal that the user stated. They are no account.Guarantee, since releases of
	// other mechanisms than the Gaussian need not have a mu.
	Epsilon float64 `json:"epsilon"`
	Delta   float64 `json:"delta"`
}

// calibrate computes the parameter that --calibrate names, for a composition with the releases in beside, and
// sets its flag. It rounds the value to the digits that are printed, and verifies that the composition with
// the rounded value is within the goal (epsilon, delta).
func (a *accountCommand) calibrate(ctx context.Context, relation account.Relation,
	beside []mechanism.Composed) (*calibrated, error) {
	epsilon, delta := a.Epsilon[0], a.Delta[0]
	a.Width = min(a.Width, 1e-3)
	var set func(*accountCommand, float64)
	at := func(x float64) ([]mechanism.Composed, error) {
		try := *a
		set(&try, x)
		own, err := try.own(relation)
		return append(own, beside...), err
	}
	count := func(name string, most int) (float64, error) {
		n, err := mechanism.CalibrateCount(ctx, epsilon, delta,
			func(n int) ([]mechanism.Composed, error) { return at(float64(min(n, most))) })
		if err == nil && n == 0 {
			err = fmt.Errorf("account: epsilon = %v, delta = %v: %s = 1 already costs more", epsilon, delta, name)
		}
		return float64(min(n, most)), err
	}
	out := &calibrated{Epsilon: epsilon, Delta: delta}
	var digit float64 // one unit of the last printed digit; its sign is the direction of more privacy
	var err error
	switch {
	case a.Calibrate == "noise":
		out.Parameter, set = "noise_multiplier", func(c *accountCommand, x float64) { c.NoiseMultiplier = x }
		out.Value, err = mechanism.CalibrateMultiplier(ctx, epsilon, delta, at)
		digit = unit(out.Value)
		out.Value = inDigits(math.Ceil(out.Value/digit), digit)
	case a.Calibrate == "steps":
		out.Parameter, set = "steps", func(c *accountCommand, x float64) { c.Steps = int(x) }
		out.Value, err = count("steps", math.MaxInt)
		digit = -1
	case a.Records != 0:
		out.Parameter, set = "batch", func(c *accountCommand, x float64) { c.Batch = int(x) }
		out.Value, err = count("batch", a.Records)
		digit = -1
	default:
		out.Parameter, set = "sampling", func(c *accountCommand, x float64) { c.Sampling = x }
		out.Value, err = mechanism.CalibrateSampling(ctx, epsilon, delta, at)
		digit = -unit(out.Value)
		out.Value = inDigits(math.Floor(out.Value/-digit), -digit)
	}
	if err != nil {
		return nil, err
	}
	if err := a.verified(ctx, out, digit, at); err != nil {
		return nil, err
	}
	set(a, out.Value)
	a.Delta = nil // the report then states the delta at the goal's epsilon
	return out, nil
}

// verified tests that the composition with the computed value is within the goal (epsilon, delta). If it is
// not, verified moves the value by one unit of its last printed digit towards more privacy and tests again.
// Usually the first test succeeds; the width of the search can make further tests necessary. After 20 tests
// without success verified returns an error.
func (a *accountCommand) verified(ctx context.Context, out *calibrated, digit float64,
	at func(float64) ([]mechanism.Composed, error)) error {
	const tries = 20
	for range tries {
		events, err := at(out.Value)
		if err != nil {
			return err
		}
		c, err := mechanism.Compose(ctx, events, a.Width)
		if err != nil {
			return err
		}
		b, err := c.Delta(ctx, out.Epsilon)
		if err != nil {
			return err
		}
		if b.Upper <= out.Delta {
			return nil
		}
		out.Value = inDigits(math.Round(out.Value/math.Abs(digit))+math.Copysign(1, digit), math.Abs(digit))
	}
	return fmt.Errorf("account: %s = %v: not private within the requested width", out.Parameter, out.Value)
}

// unit returns one unit of the sixth significant digit of x.
func unit(x float64) float64 { return math.Pow(10, math.Floor(math.Log10(x))-5) }

// inDigits returns n times unit, a power of 10, rounded so that it is printed with few digits.
func inDigits(n, unit float64) float64 {
	if unit >= 1 {
		return n * unit
	}
	return n / math.Round(1/unit)
}
