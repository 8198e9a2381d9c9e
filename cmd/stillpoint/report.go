package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

type reportCommand struct {
	Dir string `arg:"" help:"Output folder of a fit." placeholder:"DIR"`
	Out string `help:"Write to FILE instead of DIR/report.html." placeholder:"FILE"`

	Public string `help:"Also measure the model on a table that is public or yours to look at, as evaluate --stationarity does. NOT private." placeholder:"DATA"`
	Where  string `help:"Of that table, use only the rows with column=value." placeholder:"COLUMN=VALUE"`
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
