package main

import (
	"fmt"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/stillpoint-dp/stillpoint/loss"
)

type lossesCommand struct{}

// Help returns the text that the help of the command prints below its flags.
func (lossesCommand) Help() string {
	return `Lists the values of model.loss by the kind of the target. Parameters are in units of the
scaled target: numbers are scaled from their bounds to [-1, 1]. A loss with corners is
smoothed by a known amount before it is fitted. A network takes any of them as its output:

  loss: {network: {hidden: [16], activation: tanh, output: logistic}}`
}

// lossUses gives for each loss a text for configurations, with parameters if it has some, and the task
// for which it is meant.
var lossUses = map[string]struct{ shown, use string }{
	"logistic":       {"logistic", "two classes; probabilities"},
	"sigmoid":        {"sigmoid", "two classes; rows with a wrong class pull little; not convex"},
	"tanh":           {"tanh", "the same as sigmoid with another scale"},
	"smoothed-hinge": {"smoothed-hinge(0.5)", "two classes; a support-vector classifier with a rounded corner"},
	"hinge":          {"hinge", "two classes; a support-vector classifier"},
	"ramp":           {"ramp", "two classes; a hinge that rows far on the wrong side do not move"},
	"softmax": {"softmax(3)",
		"three classes or more; in a configuration softmax alone means as many as are declared"},
	"huber":    {"huber(0.1)", "numbers; the mean of most rows, of outliers the median"},
	"squared":  {"squared(0.5)", "numbers; least squares, with residuals clipped"},
	"absolute": {"absolute", "numbers; the median"},
	"pinball":  {"pinball(0.9)", "numbers; a quantile"},

	"epsilon-insensitive": {"epsilon-insensitive(0.1)", "numbers; support-vector regression"},
	"capped-absolute":     {"capped-absolute(0.5)", "numbers; the median of the rows that are not far off"},
	"welsch":              {"welsch(0.5)", "numbers; outliers pull hardly at all"},
	"geman-mcclure":       {"geman-mcclure(0.5)", "numbers; outliers pull little"},
	"tukey":               {"tukey(0.5)", "numbers; outliers do not pull"},
	"poisson":             {"poisson(1)", "counts"},
	"poisson-rate":        {"poisson-rate(1,0.1)", "counts over unlike exposures, of which the least is declared"},
}

// lossRow describes a loss in texts.
type lossRow struct {
	shown, use, target, convex, corners string
	steepest                            string // largest slope; the parameters are those shown
}

// lossRows returns the description of each loss that a configuration may name, first those for two classes,
// then those for classes and for numbers.
func lossRows() (rows []lossRow, err error) {
	yes := map[bool]string{true: "yes", false: "no"}
	for _, kind := range []struct {
		target loss.Target
		text   string
	}{{loss.Binary, "two classes"}, {loss.Classes, "classes"}, {loss.Real, "a number"}} {
		for _, name := range loss.Names() {
			of := lossUses[name]
			l, err := loss.Parse(of.shown)
			if err != nil {
				return nil, err
			}
			if l.Target() != kind.target {
				continue
			}
			c, steepest := l.Constants(), "none"
			if !math.IsInf(c.Lipschitz, 0) {
				steepest = strconv.FormatFloat(c.Lipschitz, 'g', 4, 64)
			}
			_, corners := l.(loss.Kinked)
			rows = append(rows, lossRow{of.shown, of.use, kind.text, yes[c.Curvature.Lo >= 0], yes[corners], steepest})
		}
	}
	return rows, nil
}

func (lossesCommand) Run(c *console) error {
	rows, err := lossRows()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "loss\ttarget\tconvex\tcorners\tfor")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.shown, r.target, r.convex, r.corners, r.use)
	}
	return w.Flush()
}
