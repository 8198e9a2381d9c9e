package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

type reportCommand struct {
	Dir string `arg:"" help:"Output folder of a fit." placeholder:"DIR"`
	Out string `help:"Write to FILE instead of DIR/report.html." placeholder:"FILE"`

	Public string `help:"Also measure the model on a table that is public or that you may look at, as evaluate --stationarity does. NOT private." placeholder:"DATA"`
	Where  string `help:"Use only the rows of that table with column=value." placeholder:"COLUMN=VALUE"`
}

func (r *reportCommand) Run(ctx context.Context, c *console) error {
	fit, err := report.ReadFit(ctx, r.Dir)
	if err != nil {
		return err
	}
	if r.Public == "" && r.Where != "" {
		return errors.New("where: is for the table of --public")
	}
	if r.Public != "" {
		if fit.Model == nil {
			return fmt.Errorf("public: %s: the run wrote no model to measure", r.Dir)
		}
		metrics, err := fit.Model.EvaluateStationarity(ctx, r.Public, r.Where, "")
		if err != nil {
			return err
		}
		fit.Public = &metrics
	}
	page, err := fit.Page(ctx)
	if err != nil {
		return err
	}
	out := cmp.Or(r.Out, filepath.Join(r.Dir, "report.html"))
	reads := fit.Files()
	if r.Public != "" {
		reads = append(reads, r.Public)
	}
	if err := writeFile(out, reads, page.Render); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "report  %s\n", safetext.Text(out))
	return err
}

type coefficientsCommand struct {
	Dir          string   `arg:"" help:"Output folder of a fit; with --tests also its model.json." placeholder:"DIR"`
	Tests        bool     `help:"Print a joint test of each column in place of its coefficients, after a fit with inference." xor:"level,at"`
	Level        *float64 `help:"Level of the intervals, after a fit with inference; without it the level of the fit." placeholder:"P" xor:"level"`
	Simultaneous bool     `help:"Widen the intervals so that all of them hold at once with the level (Bonferroni)." xor:"at"`
	JSON         bool     `help:"Print JSON, with the covariance of the noise." name:"json"`
}

func (k *coefficientsCommand) Run(ctx context.Context, c *console) error {
	if k.Tests {
		return k.tests(ctx, c)
	}
	fit, err := report.ReadFit(ctx, k.Dir)
	if err != nil {
		return err
	}
	if fit.Model != nil {
		together := 0
		if k.Simultaneous {
			together = report.Every
		}
		if fit.Model, err = atLevel(k.Dir, fit.Model, k.Level, together); err != nil {
			return err
		}
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
		if k.Simultaneous {
			text += simultaneous("the level in the head of the table")
		}
	} else {
		text = coefficientTable(list)
	}
	_, err = fmt.Fprint(c.out, text+report.HazardText(list.HazardRatios))
	return err
}

// simultaneous says which level intervals have that hold at once.
func simultaneous(level string) string {
	return safetext.Lines("Simultaneous: each interval has "+level+", so that all of them hold at once with the level that was asked "+
		"for (Bonferroni).", "", 100)
}

// tests prints the joint tests of the columns.
func (k *coefficientsCommand) tests(ctx context.Context, c *console) error {
	m, err := modelAt(ctx, k.Dir, nil)
	if err != nil {
		return err
	}
	list, err := report.Tests(m)
	if err != nil {
		return fmt.Errorf("%s: %w", k.Dir, err)
	}
	return c.answer(k.JSON, list, report.TestText(list))
}

// coefficientTable formats the coefficients as a table of text.
func coefficientTable(list *report.Coefficients) string {
	noise := "noise sd"
	if list.Noise == report.NoiseBounded {
		noise = "noise sd at most"
	}
	rows := [][]string{{"term", "class", "reference or unit", "coefficient", noise}}
	for _, t := range list.Terms {
		rows = append(rows, []string{t.Term, t.Class, cmp.Or(t.Reference, t.Per), fmt.Sprintf("%.4g", *t.Value), t.Noise()})
	}
	for _, column := range list.NotInterpretable {
		rows = append(rows, []string{column, "-", "hashed", "-", "not interpretable"})
	}
	if len(list.Terms) == 0 || list.Terms[0].Class == "" {
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
	}
	var b strings.Builder
	b.WriteString(safetext.Table(rows[0], rows[1:]))
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
