package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/internal/printable"
	"github.com/stillpoint-dp/stillpoint/report"
)

type reportCommand struct {
	Dir string `arg:"" help:"Output folder of a fit." placeholder:"DIR"`
	Out string `help:"Write to FILE instead of DIR/report.html." placeholder:"FILE"`
}

// Help is printed below the flags.
func (reportCommand) Help() string {
	return `Writes one HTML file for people: what was asked, what it cost and what that means,
how the noise compares with the signal, the coefficients in the table's units with
the noise in them, and the words to cite the guarantee with. It has no script and
loads nothing.

Everything on it follows from the folder's certificate, model and ledger. The table
is not opened, so the page costs no privacy and may be published. A certificate
that does not verify, or a model it does not speak of, is refused (exit code 4).`
}

func (r *reportCommand) Run(ctx context.Context, c *console) error {
	fit, err := report.ReadFit(ctx, r.Dir)
	if err != nil {
		return err
	}
	page, err := fit.Page(ctx)
	if err != nil {
		return err
	}
	out := r.Out
	if out == "" {
		out = filepath.Join(r.Dir, "report.html")
	}
	if err := writeFile(out, fit.Files(), page.Render); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "report  %s\n", printable.Text(out))
	return err
}
