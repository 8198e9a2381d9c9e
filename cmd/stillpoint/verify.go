package main

import (
	"context"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/certificate"
)

type verifyCommand struct {
	Certificate string `arg:"" help:"Certificate file." placeholder:"CERTIFICATE"`
	Model       string `help:"Also check that FILE is the model the certificate speaks of." placeholder:"FILE"`
	JSON        bool   `help:"Print JSON." name:"json"`
}

// Help is printed below the flags.
func (verifyCommand) Help() string {
	return `Recomputes (epsilon, delta) from the filter's mu or from the schedule, each
release's charge from its law, and their sum against mu^2, without the data. A
file altered since it was written is refused by its checksum. The checksum is not
a signature: whoever can edit the file can also recompute it, so get the
certificate from somebody you trust.

Exit code 4 means refused: the file is no certificate, was altered, its claim does
not follow from its record, its noise was simulated, or the model is not the one
it speaks of. Exit code 1 means that a file could not be read.`
}

func (v *verifyCommand) Run(ctx context.Context, c *console) error {
	cert, err := certificate.Read(v.Certificate)
	if err != nil {
		return err
	}
	report, err := cert.Verify(ctx)
	if err != nil {
		return err
	}
	if v.Model != "" {
		if err := certificate.VerifyModel(cert, v.Model); err != nil {
			return err
		}
	}
	if v.JSON {
		return printJSON(c.out, report)
	}
	_, err = fmt.Fprintln(c.out, report)
	return err
}
