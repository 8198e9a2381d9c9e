package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

type describeCommand struct {
	Config string `arg:"" help:"Configuration file (YAML): table, schema with a target, privacy. It need not have a model." placeholder:"CONFIG"`
	privacyFlags
	By        string  `help:"Also describe the columns by the values of this category, as in table 1 of a paper." placeholder:"COLUMN"`
	Level     float64 `help:"Confidence level of the intervals." default:"0.95" placeholder:"L"`
	Out       string  `help:"Output folder. Without it a fresh one is made in the current folder: NAME-describe, NAME-describe-2, ..." placeholder:"DIR"`
	Overwrite bool    `help:"Replace the description or the model in DIR. The charge of the earlier run stays in the ledger."`
	JSON      bool    `help:"Print JSON: the content of describe.json." name:"json"`
}

func (d *describeCommand) Run(ctx context.Context, c *console) error {
	config, err := train.ReadDescription(d.Config)
	if err != nil {
		return err
	}
	d.override(config)
	collect(config.Memory)
	c.note("reading", "reading "+reads(config))
	made, err := runfolder.Describe(ctx, config, runfolder.Out{Path: d.Out, Overwrite: d.Overwrite},
		train.DescribeOptions{By: d.By, Level: d.Level,
			Options: train.Options{Software: software(), Stores: stores.Open}})
	if made == nil {
		return err
	}
	if err := errors.Join(err, d.files(made)); err != nil {
		return &savedError{err}
	}
	if d.JSON {
		_, err := c.out.Write(made.Text)
		return err
	}
	_, err = fmt.Fprint(c.out, describedText(ctx, made))
	return err
}

// files writes what follows from a description to its folder: the schema with released bounds, and a page.
func (d *describeCommand) files(made *runfolder.Described) error {
	schema, err := made.Schema.MarshalYAML()
	if err != nil {
		return err
	}
	err = writeFile(filepath.Join(made.Folder, runfolder.SchemaFile), nil, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "# Bounds follow from the released quantiles in %s.\n%s", runfolder.DescriptionFile, schema)
		return err
	})
	if err != nil {
		return err
	}
	page := report.DescriptionPage(made.Table, &made.Description.Description, made.Certificate)
	return writeFile(filepath.Join(made.Folder, runfolder.PageFile), nil, page.Render)
}

// describedText shows a description and its cost, for readers.
func describedText(ctx context.Context, made *runfolder.Described) string {
	together := made.Together(ctx)
	if together != "" {
		together = "together  " + together + "\n"
	}
	return fmt.Sprintf("%s\nbudget    epsilon %v, delta %v, %v: %.4g%% spent\nfolder    %s\n%s", made.Description.Description.Text(),
		made.Budget.Epsilon(), made.Budget.Delta(), made.Budget.Relation(), 100*made.Charged/made.Budget.Charge(),
		safetext.Text(made.Folder), together)
}
