package main

import (
	"context"
	"errors"
	"fmt"
	"io"

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
was charged is in it for information, and may lack the releases of the last
second before a machine stopped. What was reserved stays reserved in DIR.

A fit that was charged to a store of budgets put every release in its journal before its
answer: the store charges what that proves, and has the rest back. A fit that was killed
after the store had reserved its budget, and before DIR's ledger had, released nothing,
and the store has all of it back. A journal with a damaged line, with lines missing or
cut off, proves nothing to the store, which keeps the whole charge: put the journal back
as it was, from a copy, and recover again. So does a journal of an earlier version, whose
lines have no checksums, unless the fit had made its files.`
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
			line("settled", "%v", s)
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
	line("charged", "at least %.6g of %.6g (units of mu^2), %d noisy answers (releases) in the journal; the whole "+
		"budget stays reserved",
		r.Charged, r.Budget.Charge(), r.Releases)
	if r.Damaged > 0 {
		line("WARNING", "line %d of the journal is damaged or cut off: what was released from there on is not known",
			r.Damaged)
	}
	line("recheck", "stillpoint verify %s", r.CertificatePath)
	return err
}
