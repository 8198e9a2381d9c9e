package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

type coefficientsCommand struct {
	Dir   string `arg:"" help:"Output folder of a fit." placeholder:"DIR"`
	Tests bool   `help:"Print a joint test of each column in place of its coefficients, after a fit with inference."`
	JSON  bool   `help:"Print JSON, with the covariance of the noise." name:"json"`
}

// Help returns the text that the help of the command prints below its flags.
func (coefficientsCommand) Help() string {
	return `Prints the coefficients of a linear model, column by column in the table's units, with the
privacy noise in each. The terms of a row add up to the prediction (of two classes the
log-odds, of more those of each class against the mean of all, of counts the logarithm):

  a number     the change with one unit more; of a logarithm with each doubling of 1 + x, of
               a date with a year
  a category   the difference between a level and the reference, the first level declared.
               A single level says nothing by itself: the same may be added to all
  a curve      the difference between a knot and the first; --json has points to draw, each
               with a band of privacy noise and the share of the rows around it
  crossed      the differences are those at the other column's reference; a pair's term is
               added to these
  intercept    for numbers of 0, dates at their first day, categories at their reference
  hashed       not interpretable: the values in a bucket are not known

The noise column is one standard deviation of the privacy noise alone. It leaves out the
sampling error, since a table holds only some of the people of the population. Twice the
noise is therefore no confidence interval. The noise is one of three:

  estimated    from the law of the run and the second moment of the rows that it released
               (algorithm preconditioned; of absolute and pinball losses the comparison with
               a constant as well); the JSON has the covariance of all terms
  at most      without a released second moment, of a convex loss: an upper bound
  not stated   of other losses and older certificates; the column has a dash

Estimated noise counts the expected rest of the way from the end of the steps to the fit
without privacy. Where the rest is not small, the noise alone and the share of the way stand
beside it. A term has not arrived where the noise hides how many rows tell of it.

For a model with features: effects the terms describe the additive part of the score. The
interactions are added to it, and no noise is stated.

After a fit with inference: {level: 0.95} the text has confidence intervals in place of the
noise, and their formula. Use stillpoint contrast for differences. After such a fit --tests
prints a Wald test of each column: of all levels of a category, or of the line and all
knots of a curve together, with p-values and with Holm's adjustment for all columns.

Everything follows from the certificate and the model in DIR: the table is not opened,
and the answer costs no privacy. A certificate that does not verify, or a model it does
not speak of, is refused (exit code 4). A network has no coefficients (exit code 1).`
}

func (k *coefficientsCommand) Run(ctx context.Context, c *console) error {
	fit, err := report.ReadFit(ctx, k.Dir)
	if err != nil {
		return err
	}
	if k.Tests {
		return k.tests(c, fit)
	}
	list, err := fit.Coefficients()
	if err != nil {
		return fmt.Errorf("%s: %w", k.Dir, err)
	}
	if k.JSON {
		return printJSON(c.out, list)
	}
	text := ""
	if list.Intervals != nil {
		text = report.CoefficientText(list.Intervals)
	} else {
		text = coefficientTable(list)
	}
	_, err = fmt.Fprint(c.out, text+report.HazardText(list.HazardRatios))
	return err
}

// tests prints the joint tests of the columns.
func (k *coefficientsCommand) tests(c *console, fit *report.Fit) error {
	if fit.Model == nil {
		return fmt.Errorf("%s: has no model", k.Dir)
	}
	list, err := report.Tests(fit.Model)
	if err != nil {
		return fmt.Errorf("%s: %w", k.Dir, err)
	}
	if k.JSON {
		return printJSON(c.out, list)
	}
	_, err = fmt.Fprint(c.out, report.TestText(list))
	return err
}

// coefficientTable formats the coefficients as a table of text.
func coefficientTable(list *report.Coefficients) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	noise := "noise sd"
	if list.Noise == report.NoiseBounded {
		noise = "noise sd at most"
	}
	classes := len(list.Terms) > 0 && list.Terms[0].Class != ""
	class := func(name string) string {
		if !classes {
			return ""
		}
		return safetext.Text(name) + "\t"
	}
	fmt.Fprintf(w, "term\t%sreference or unit\tcoefficient\t%s\n", class("class"), noise)
	for _, t := range list.Terms {
		against := t.Per
		if t.Reference != "" {
			against = t.Reference
		}
		fmt.Fprintf(w, "%s\t%s%s\t%.4g\t%s\n", safetext.Text(t.Term), class(t.Class), safetext.Text(against), *t.Value, t.Noise())
	}
	for _, column := range list.NotInterpretable {
		fmt.Fprintf(w, "%s\t%s%s\t%s\t%s\n", safetext.Text(column), class("-"), "hashed", "-", "not interpretable")
	}
	_ = w.Flush() // writing to a strings.Builder never fails
	fmt.Fprintf(&b, "\nCoefficients are in %s.\n", safetext.Text(list.Unit))
	for k, t := range list.Thresholds {
		fmt.Fprintf(&b, "%-24s %.4g\n", fmt.Sprintf("threshold %d", k+1), t)
	}
	if list.Counted > 0 {
		fmt.Fprintf(&b, "%d of %d, intercepts left out, differ from 0 by more than two standard deviations of the noise.\n",
			list.Beyond, list.Counted)
	}
	b.WriteString(safetext.Lines(safetext.Text(list.Meaning), "", 100))
	return b.String()
}
