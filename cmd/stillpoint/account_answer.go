package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// answer is one accountant's answer to one question: the epsilon at a delta, or the delta at an epsilon. The
// help of the command account documents the JSON names of the fields of answer and accountReport.
type answer struct {
	Accountant   string   `json:"accountant"`
	Kind         string   `json:"kind"`
	EpsilonLower *float64 `json:"epsilon_lower,omitempty"`
	EpsilonUpper *float64 `json:"epsilon_upper,omitempty"`
	DeltaLower   *float64 `json:"delta_lower,omitempty"`
	DeltaUpper   *float64 `json:"delta_upper,omitempty"`
	Epsilon      *float64 `json:"epsilon,omitempty"`
	Delta        *float64 `json:"delta,omitempty"`
	Error        string   `json:"error,omitempty"`

	remark  string
	bracket mechanism.Bracket
}

type release struct {
	Mechanism string `json:"mechanism"`
	Count     int    `json:"count"`
}

type curvePoint struct {
	Epsilon    float64 `json:"epsilon"`
	DeltaLower float64 `json:"delta_lower"`
	DeltaUpper float64 `json:"delta_upper"`
}

type accountReport struct {
	*answer                      // the first of Results
	Relation    account.Relation `json:"relation"`
	Neighbours  string           `json:"neighbours"`
	Group       int              `json:"group"`
	Releases    []release        `json:"releases"`
	Assumptions []string         `json:"assumptions"`
	Calibrated  *calibrated      `json:"calibrated,omitempty"`
	Results     []answer         `json:"results"`
	Curve       []curvePoint     `json:"curve,omitempty"`
}

func (r *accountReport) describe(events []mechanism.Composed) {
	r.Releases = vector.Map(events, func(e mechanism.Composed) release { return release{fmt.Sprint(e.Mechanism), e.Count} })
	r.Assumptions, r.Results = append([]string{}, mechanism.Assumptions(events)...), []answer{}
	what := "one row is exchanged for any other; the number of rows is public"
	if r.Relation == account.AddOrRemove {
		what = "one row is added or removed; the number of rows is secret"
	}
	if r.Group > 1 {
		what = fmt.Sprintf("up to %d rows change together, for each of which: %s", r.Group, what)
	}
	r.Neighbours = what
}

// ask computes the answers of three accountants to each question of the flags. The accountant pld, which
// composes privacy-loss distributions, comes first. An accountant without an answer has the kind none and
// states the reason. If no accountant answers a question, ask returns an error. c is the composition for pld;
// refused, if not nil, is the reason why there is no such composition.
func (a *accountCommand) ask(ctx context.Context, c *mechanism.Composition, refused error,
	events []mechanism.Composed) ([]answer, error) {
	rho, noRho := mechanism.ZCDP(ctx, events)
	orders, noOrders := mechanism.ComposeRenyi(ctx, events)
	out := []answer{}
	for i := range len(a.Delta) + len(a.Epsilon) {
		first := len(out)
		add := func(name, kind, remark string, refused error, epsilon, delta func(float64) (mechanism.Bracket, error)) {
			r := answer{Accountant: name, Kind: kind, remark: remark}
			at := epsilon
			if i < len(a.Delta) {
				r.Delta = &a.Delta[i]
			} else {
				r.Epsilon, at = &a.Epsilon[i-len(a.Delta)], delta
			}
			if refused == nil {
				if r.Delta != nil {
					r.bracket, refused = at(*r.Delta)
				} else {
					r.bracket, refused = at(*r.Epsilon)
				}
			}
			r.fill(refused)
			out = append(out, r)
		}
		upper := func(at func(float64) (float64, error)) func(float64) (mechanism.Bracket, error) {
			return func(x float64) (mechanism.Bracket, error) {
				v, err := at(x)
				return mechanism.Bracket{Lower: math.NaN(), Upper: v}, err
			}
		}
		add("pld", "bracket", "privacy-loss distributions; both ends certified", refused,
			func(x float64) (mechanism.Bracket, error) { return c.Epsilon(ctx, x) },
			func(x float64) (mechanism.Bracket, error) { return c.Delta(ctx, x) })
		add("rdp", "upper-bound", "Renyi orders; an upper bound", noOrders,
			upper(func(x float64) (float64, error) { return orders.Epsilon(ctx, x) }),
			upper(func(x float64) (float64, error) { return orders.Delta(ctx, x) }))
		add("zcdp", "upper-bound", "zero-concentrated; an upper bound", noRho,
			upper(func(x float64) (float64, error) { return mechanism.ZCDPEpsilon(rho, x) }),
			upper(func(x float64) (float64, error) { return mechanism.ZCDPDelta(rho, x) }))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(out[first:], func(r answer) bool { return r.Kind != "none" }) {
			return nil, errors.New(out[first].Error)
		}
	}
	return out, nil
}

// fill sets the answer's bounds from r.bracket. If err is not nil or the upper bound is not finite, it sets
// the kind none and the reason instead.
func (r *answer) fill(err error) {
	if err == nil && (math.IsNaN(r.bracket.Upper) || math.IsInf(r.bracket.Upper, 0)) {
		err = fmt.Errorf("account: %s: no finite bound", r.Accountant)
	}
	if err != nil {
		r.Kind, r.Error = "none", err.Error()
		return
	}
	lower, upper := &r.EpsilonLower, &r.EpsilonUpper
	if r.Epsilon != nil {
		lower, upper = &r.DeltaLower, &r.DeltaUpper
	}
	*upper = &r.bracket.Upper
	if r.Kind == "bracket" {
		*lower = &r.bracket.Lower
	}
}

// The printed curve of delta over epsilon has curvePoints+1 points, the drawn one drawnPoints+1.
const curvePoints, drawnPoints = 32, 60

// leastDelta is the delta at which a curve ends.
const leastDelta = 1e-12

// curve returns points+1 points of the curve of delta over epsilon at equal distances, from epsilon 0 to the epsilon at
// which delta is leastDelta.
func curve(ctx context.Context, c *mechanism.Composition, points int) ([]curvePoint, error) {
	last, err := c.Epsilon(ctx, leastDelta)
	if err != nil {
		return nil, err
	}
	var out []curvePoint
	for k := range points + 1 {
		epsilon := last.Upper * float64(k) / float64(points)
		b, err := c.Delta(ctx, epsilon)
		if err != nil {
			return nil, err
		}
		out = append(out, curvePoint{epsilon, b.Lower, b.Upper})
		if last.Upper == 0 {
			break
		}
	}
	return out, nil
}

func (r *accountReport) text() string {
	w := new(strings.Builder)
	if c := r.Calibrated; c != nil {
		fmt.Fprintf(w, "%s %v is within epsilon %v, delta %v\n", c.Parameter, c.Value, c.Epsilon, c.Delta)
	}
	for i, x := range r.Results {
		if i == 0 || x.Accountant == r.Results[0].Accountant {
			if x.Delta != nil {
				fmt.Fprintf(w, "epsilon at delta %v under %v\n", *x.Delta, r.Relation)
			} else {
				fmt.Fprintf(w, "delta at epsilon %v under %v\n", *x.Epsilon, r.Relation)
			}
		}
		switch {
		case x.Kind == "none":
			fmt.Fprintf(w, "  %-5s %v\n", x.Accountant, x.Error)
		case x.Kind == "bracket":
			fmt.Fprintf(w, "  %-5s between %.8g and %-12.8g %s\n", x.Accountant, x.bracket.Lower, x.bracket.Upper, x.remark)
		default:
			fmt.Fprintf(w, "  %-5s at most %-24.8g %s\n", x.Accountant, x.bracket.Upper, x.remark)
		}
	}
	if len(r.Curve) > 0 {
		fmt.Fprintf(w, "delta under %v\n", r.Relation)
	}
	for _, p := range r.Curve {
		fmt.Fprintf(w, "  at epsilon %-10.5g between %.8g and %.8g\n", p.Epsilon, p.DeltaLower, p.DeltaUpper)
	}
	return w.String()
}

// checkPicture returns an error if the name of a picture's file has an ending other than .svg, since pictures
// are always SVG. A name without an ending is allowed.
func checkPicture(path string) error {
	if e := filepath.Ext(path); e != "" && !strings.EqualFold(e, ".svg") {
		return fmt.Errorf("--plot %s: is drawn as SVG: the name must end in .svg", path)
	}
	return nil
}

// plotCurve writes an SVG file at path with the upper bound of delta over epsilon, from epsilon 0 to the
// epsilon at which delta is leastDelta. The axis of delta is logarithmic. If delta is 0 at nearly every
// epsilon, plotCurve returns an error.
func plotCurve(ctx context.Context, path string, c *mechanism.Composition) error {
	list, err := curve(ctx, c, drawnPoints)
	if err != nil {
		return err
	}
	curve := report.Series{Name: "upper end", Style: report.Line}
	for _, p := range list {
		if p.DeltaUpper > 0 {
			curve.X, curve.Y = append(curve.X, p.Epsilon), append(curve.Y, p.DeltaUpper)
		}
	}
	if len(curve.X) < 2 {
		return fmt.Errorf("plot %s: delta is 0 at every epsilon: nothing to draw", path)
	}
	p := report.Plot{
		Title:   "Cost of the releases",
		Caption: "The releases are (epsilon, delta)-differentially private at every point of the curve and above it.",
		X:       report.Axis{Label: "epsilon"},
		Y:       report.Axis{Label: "delta", Log: true, Min: leastDelta, Max: max(curve.Y[0], 10*leastDelta)},
		Series:  []report.Series{curve},
	}
	return writeFile(path, nil, p.SVG)
}
