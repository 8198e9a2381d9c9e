package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/regular"
)

type accountCommand struct {
	NoiseMultiplier float64  `help:"Noise on the sum over the clip norm of a record (sigma/C)." placeholder:"Z"`
	Sampling        float64  `help:"Probability with which a record joins a batch; 1 for all records." default:"1" placeholder:"Q"`
	Steps           int      `help:"Number of releases." default:"1" placeholder:"T"`
	Relation        string   `help:"Neighbouring tables: replace-one or add-or-remove." placeholder:"RELATION"`
	Events          string   `help:"Releases from a JSON file instead of the flags above." placeholder:"FILE"`
	Group           int      `help:"Guarantee for groups of K records changed together, such as one person's rows." default:"1" placeholder:"K"`
	Delta           *float64 `help:"Bracket epsilon at this delta." placeholder:"D"`
	Epsilon         *float64 `help:"Bracket delta at this epsilon." placeholder:"E"`
	Width           float64  `help:"Relative width of the bracket asked for." default:"0.001" placeholder:"W"`
	JSON            bool     `help:"Print JSON." name:"json"`
	Plot            string   `help:"Draw delta over epsilon to FILE.svg." placeholder:"FILE"`
}

// Help is printed below the flags.
func (accountCommand) Help() string {
	return `Says what a sequence of releases costs, without any data: a certified bracket from
privacy-loss distributions, and what other accountants would say. The upper end
is the one to claim.

  stillpoint account --noise-multiplier 1.5 --sampling 0.04 --steps 2250 \
      --relation add-or-remove --delta 1e-5

An events file lists releases of several kinds:

  {"relation": "add-or-remove", "events": [
    {"kind": "sampled-gaussian", "noise_multiplier": 1.5, "sampling": 0.04, "count": 2250},
    {"kind": "laplace", "scale": 20}]}

The noise multiplier is sigma/C with C the largest norm of one record's
contribution, under both relations: replacing a record moves a sum by up to 2C,
and that is accounted for here.`
}

func (a *accountCommand) Run(ctx context.Context, c *console) error {
	relation, events, err := a.events()
	if err != nil {
		return err
	}
	if (a.Delta == nil) == (a.Epsilon == nil) {
		return errors.New("account: give either --delta or --epsilon")
	}
	for i := range events {
		if events[i].Mechanism, err = account.Group(events[i].Mechanism, a.Group); err != nil {
			return err
		}
	}
	composition, err := account.Compose(ctx, events, a.Width)
	if err != nil {
		return err
	}
	rows, err := a.accountants(ctx, composition, events)
	if err != nil {
		return err
	}
	if a.Plot != "" {
		if err := plotCurve(ctx, a.Plot, composition); err != nil {
			return err
		}
	}
	if a.JSON {
		return printJSON(c.out, a.report(relation, rows))
	}
	return a.print(c, relation, rows)
}

// events returns the releases the flags or the file describe.
func (a *accountCommand) events() (account.Relation, []account.Composed, error) {
	if a.Events != "" {
		if a.NoiseMultiplier != 0 || a.Relation != "" {
			return 0, nil, errors.New("account: --events stands instead of --noise-multiplier and --relation")
		}
		text, err := regular.Read(a.Events, regular.Document)
		if err != nil {
			return 0, nil, err
		}
		plan, err := account.DecodePlan(text)
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", a.Events, err)
		}
		return plan.Relation, plan.Events, nil
	}
	if a.Relation == "" {
		return 0, nil, errors.New("account: --relation must be given: replace-one or add-or-remove")
	}
	relation, err := account.ParseRelation(a.Relation)
	if err != nil {
		return 0, nil, err
	}
	m, err := account.NewSampledGaussian(a.NoiseMultiplier, a.Sampling, relation)
	if err != nil {
		return 0, nil, err
	}
	if a.Steps < 1 {
		return 0, nil, fmt.Errorf("account: steps = %d: must be >= 1", a.Steps)
	}
	return relation, []account.Composed{{Mechanism: m, Count: a.Steps}}, nil
}

// accounted is what one accountant says.
type accounted struct {
	name, remark string
	bracket      account.Bracket
	err          error
}

// accountants asks them all, the exact one first. What an accountant cannot say
// is said beside it.
func (a *accountCommand) accountants(ctx context.Context, c *account.Composition, events []account.Composed) ([]accounted, error) {
	unknown := account.Bracket{Lower: math.NaN(), Upper: math.NaN()}
	exact := accounted{name: "pld", remark: "privacy-loss distributions; both ends certified"}
	renyi := accounted{name: "rdp", remark: "Renyi orders; an upper bound", bracket: unknown}
	zcdp := accounted{name: "zcdp", remark: "zero-concentrated; an upper bound", bracket: unknown}
	var rho float64
	rho, zcdp.err = account.ZCDP(ctx, events)
	orders, err := account.ComposeRenyi(ctx, events)
	if renyi.err = err; err == nil {
		if a.Delta != nil {
			renyi.bracket.Upper, renyi.err = orders.Epsilon(ctx, *a.Delta)
		} else {
			renyi.bracket.Upper, renyi.err = orders.Delta(ctx, *a.Epsilon)
		}
	}
	if a.Delta != nil {
		exact.bracket, err = c.Epsilon(ctx, *a.Delta)
		if zcdp.err == nil {
			zcdp.bracket.Upper, zcdp.err = account.ZCDPEpsilon(rho, *a.Delta)
		}
	} else {
		exact.bracket, err = c.Delta(ctx, *a.Epsilon)
		if zcdp.err == nil {
			zcdp.bracket.Upper, zcdp.err = account.ZCDPDelta(rho, *a.Epsilon)
		}
	}
	if exact.err = err; err != nil && (ctx.Err() != nil || renyi.err != nil && zcdp.err != nil) {
		return nil, err // interrupted, or no accountant has an answer
	}
	return []accounted{exact, renyi, zcdp}, nil
}

func (a *accountCommand) report(relation account.Relation, rows []accounted) any {
	type row struct {
		Accountant   string   `json:"accountant"`
		EpsilonLower *float64 `json:"epsilon_lower,omitempty"`
		EpsilonUpper *float64 `json:"epsilon_upper,omitempty"`
		DeltaLower   *float64 `json:"delta_lower,omitempty"`
		DeltaUpper   *float64 `json:"delta_upper,omitempty"`
		Epsilon      *float64 `json:"epsilon,omitempty"`
		Delta        *float64 `json:"delta,omitempty"`
		Error        string   `json:"error,omitempty"`
	}
	finite := func(x float64) *float64 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	var list []row
	for _, r := range rows {
		out := row{Accountant: r.name, Epsilon: a.Epsilon, Delta: a.Delta}
		switch {
		case r.err != nil:
			out.Error = r.err.Error()
		case a.Delta != nil:
			out.EpsilonLower, out.EpsilonUpper = finite(r.bracket.Lower), finite(r.bracket.Upper)
		default:
			out.DeltaLower, out.DeltaUpper = finite(r.bracket.Lower), finite(r.bracket.Upper)
		}
		list = append(list, out)
	}
	return struct {
		row
		Relation account.Relation `json:"relation"`
		Others   []row            `json:"others"`
	}{list[0], relation, list[1:]}
}

func (a *accountCommand) print(c *console, relation account.Relation, rows []accounted) error {
	what, given := "epsilon", ""
	if a.Delta != nil {
		given = fmt.Sprintf("delta %v", *a.Delta)
	} else {
		what, given = "delta", fmt.Sprintf("epsilon %v", *a.Epsilon)
	}
	fmt.Fprintf(c.out, "%s at %s under %v\n", what, given, relation)
	for _, r := range rows {
		switch {
		case r.err != nil:
			fmt.Fprintf(c.out, "  %-5s %v\n", r.name, r.err)
		case math.IsNaN(r.bracket.Lower):
			fmt.Fprintf(c.out, "  %-5s at most %-24.8g %s\n", r.name, r.bracket.Upper, r.remark)
		default:
			fmt.Fprintf(c.out, "  %-5s between %.8g and %-12.8g %s\n", r.name, r.bracket.Lower, r.bracket.Upper, r.remark)
		}
	}
	return nil
}
