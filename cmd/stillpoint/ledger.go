package main

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

type ledgerCommand struct {
	Folders []string `arg:"" help:"Output folders of fits, or folders that hold some." placeholder:"DIR"`
	Delta   float64  `help:"Sum at this delta; without it at the largest of a table's fits." placeholder:"D"`
	JSON    bool     `help:"Print JSON." name:"json"`
}

func (l *ledgerCommand) Run(ctx context.Context, c *console) error {
	totals, err := runfolder.Totals(ctx, l.Folders, l.Delta)
	if err != nil {
		return err
	}
	if l.JSON {
		return printJSON(c.out, totals)
	}
	for _, t := range totals {
		fits, unit := "1 fit", ""
		if t.Unit != "" {
			unit = ", for all rows of one " + safetext.Text(t.Unit)
		}
		if t.Fits > 1 {
			fits = fmt.Sprintf("%d fits", t.Fits)
		}
		fmt.Fprintf(c.out, "%s: %s, together epsilon %.4g at delta %v under %v%s\n", safetext.Text(t.Table), fits,
			runfolder.RoundUp(t.Epsilon), t.Delta, t.Relation, unit)
	}
	return nil
}
