package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/stillpoint-dp/stillpoint/internal/inspect"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

type checkCommand struct {
	Config string `arg:"" help:"Configuration file (YAML); its budget is not looked at." placeholder:"CONFIG"`
	Data   string `arg:"" optional:"" help:"Table to look at; the configuration's if left out." placeholder:"FILE"`
	Strict bool   `help:"End with exit code 1 where a column, or half of the rows, is lost."`
	JSON   bool   `help:"Print JSON." name:"json"`
}

func (f *checkCommand) Run(ctx context.Context, c *console) error {
	config, err := train.ReadConfig(f.Config)
	if err != nil {
		return err
	}
	path, paths := f.Data, []string{f.Data}
	if path == "" {
		path = config.DataPath()
		if paths, err = config.DataPaths(); err != nil {
			return err
		}
	}
	report, err := inspect.Check(ctx, paths, config.CSV, config.Schema)
	if err != nil {
		return err
	}
	if f.JSON {
		err = printJSON(c.out, struct {
			Private bool   `json:"private"`
			Warning string `json:"warning"`
			Table   string `json:"table"`
			*inspect.Report
		}{false, inspect.Warning, path, report})
	}
	if !f.JSON {
		_, err = fmt.Fprint(c.out, checked(path, report))
	}
	if lost := report.Lost(); err == nil && f.Strict && len(lost) > 0 {
		for i := range lost {
			lost[i] = safetext.Text(lost[i])
		}
		return fmt.Errorf("check: lost: %s", strings.Join(lost, "; "))
	}
	return err
}

// checked returns a text that describes how the schema reads the table at path, and the problems that were
// found. The text quotes cells and is not private.
func checked(path string, r *inspect.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", inspect.Warning)
	fmt.Fprintf(&b, "%s: %d rows", safetext.Text(path), r.Rows)
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, ", %d more left out by the row filter", r.LeftOut)
	}
	fmt.Fprintf(&b, "\n%d rows count and contribute nothing, %d of them with more or fewer cells than the header\n\n",
		r.Silent, r.Malformed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "column\tkind\tread\tmissing\tunreadable\tbelow\tabove\tother\t")
	for _, c := range r.Columns {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", safetext.Text(c.Name), c.Kind, c.Read, c.Missing, c.Unreadable,
			c.Below, c.Above, c.Other)
	}
	w.Flush()
	for _, p := range r.Table {
		fmt.Fprintf(&b, "\n%d rows: %s\n  %s\n", p.Cells, p.What, p.Do)
	}
	for _, c := range r.Columns {
		for _, p := range c.Findings {
			cells := "cells"
			if p.Cells == 1 {
				cells = "cell"
			}
			fmt.Fprintf(&b, "\n%s: %d %s: %s", safetext.Text(c.Name), p.Cells, cells, p.What)
			for i, e := range p.Examples {
				fmt.Fprintf(&b, "%s%q", map[bool]string{true: ": ", false: ", "}[i == 0], e)
			}
			fmt.Fprintf(&b, "\n  %s\n", p.Do)
		}
	}
	if r.Findings() == 0 {
		fmt.Fprint(&b, "\nnothing seems wrong\n")
	}
	return b.String()
}
