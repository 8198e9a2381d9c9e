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

// Help returns the text that the help of the command prints below its flags.
func (recoverCommand) Help() string {
	return `Makes model.json and certificate.json of a fit that was killed, whose machine
stopped or whose disk was full, from the journal it kept in DIR. If it had made
both, they are put in their places; else the model is the last iterate that the
journal holds, certified as incomplete.

The table is not opened and nothing is charged. The certificate's claim is the
whole budget, as it was reserved before the first release; what the journal proves
was released is in it for information, and may lack the releases of the last
second before a machine stopped. DIR/ledger.jsonl keeps the whole budget.

A fit that was charged to a store of budgets is settled there. The store charges what DIR
proves, and at least what it had allowed the fit to release; the rest is free again. Only
the folder in which the fit ran proves less than the whole reservation, with its ledger,
its journal and the note of its reservation. A copy, files that were put back, and a
journal that is damaged or cut off prove nothing, and the store keeps the whole charge
(stillpoint budget settle RUN --in-full ends such a run). A fit that may still run holds
its run, and recover refuses its folder and every copy of it.`
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
		line("WARNING", "line %d of the journal is damaged or cut off: what was released from there on is not known",
			r.Damaged)
	}
	line("recheck", "stillpoint verify %s", r.CertificatePath)
	return err
}
