package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
)

type recoverCommand struct {
	Dir       string `arg:"" help:"Output folder of the fit that did not end." placeholder:"DIR"`
	Overwrite bool   `help:"Replace the files of an earlier fit in DIR by those of the one that did not end."`
}

func (r *recoverCommand) Run(ctx context.Context, c *console) error {
	saved, err := runfolder.Recover(ctx, r.Dir, runfolder.RecoverOptions{Overwrite: r.Overwrite, Stores: stores.Open})
	if saved != nil {
		err = errors.Join(describe(c.out, saved), err)
	}
	return err
}

// describe prints the files and the charge of the fit that was recovered, and the settlements of runs with
// stores of budgets.
func describe(w io.Writer, r *runfolder.Recovered) (err error) {
	line := func(name, format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, "%-13s%s\n", name, fmt.Sprintf(format, args...))
		}
	}
	defer func() {
		for _, s := range r.Settlements {
			line("store", "%v", s)
		}
	}()
	if !r.Files {
		return nil
	}
	switch {
	case r.Complete:
		line("recovered", "fit %d of %s: it had ended, and its files were not in their places", r.Fit, r.Folder)
	case r.Step > 0:
		line("incomplete", "fit %d of %s: the model is that of step %d of %d", r.Fit, r.Folder, r.Step, r.Steps)
	default:
		line("incomplete", "fit %d of %s", r.Fit, r.Folder)
	}
	if r.ModelPath != "" {
		line("model", "%s", r.ModelPath)
	} else {
		line("model", "none: no iterate had been released")
	}
	line("certificate", "%s", r.CertificatePath)
	line("guarantee", "%s", r.Budget.Guarantee(r.Unit.Column).Text())
	line("released", "at least %.6g of %.6g (units of mu^2), in %d noisy answers (releases) of the journal",
		r.Charged, r.Budget.Charge(), r.Releases)
	line("ledger", "keeps the whole budget of this fit, in %s", filepath.Join(r.Folder, runfolder.LedgerFile))
	if r.Damaged > 0 {
		line("WARNING", "line %d of the journal is damaged or cut off: the releases after it are not known",
			r.Damaged)
	}
	line("recheck", "stillpoint verify %s", r.CertificatePath)
	return err
}
