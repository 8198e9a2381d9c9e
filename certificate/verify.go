package certificate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/internal/regular"
)

// Verify recomputes everything in the certificate that can be recomputed without the data. It returns an
// error unless all of these hold:
//
//   - the checksum is right ([ErrAltered] if not; it is not a signature);
//   - epsilon, recomputed from mu and delta or from the schedule, is at most the claimed one;
//   - mu is the largest one for the claimed epsilon and delta, which a privacy filter has;
//   - the charge of each event, recomputed from its sensitivity and noise, is at most the stated one;
//   - the largest total charged to any record is the stated one, and at most mu^2;
//   - events state the claim's relation, are of kinds that the basis counts, and name no more cohorts than
//     there are records;
//   - the assumptions of releases by stability are listed as trusted;
//   - the random bits were secret, and relation, basis, counts and names are ones for which a guarantee can
//     be stated.
//
// Every failure but the first is [ErrUnsound]. If the context is cancelled, the context's error is returned.
// The package comment says what a verified certificate does not prove.
func (c *Certificate) Verify(ctx context.Context) (*Report, error) {
	if err := c.checkSeal(); err != nil {
		return nil, err
	}
	d := &c.doc
	epsilon, err := d.check(ctx)
	if err != nil {
		return nil, err
	}
	if d.Coins != Secret {
		return nil, unsound("coins", strconv.Quote(string(d.Coins)), "must be %q: noise from other coins protects nobody",
			Secret)
	}
	return &Report{
		Guarantee:  d.guarantee(),
		Recomputed: epsilon,
		Basis:      d.Basis,
		Charged:    d.Charged,
		Records:    d.Records,
		Neighbour:  c.Unit().Neighbour(c.Filter(), d.Claim.Relation),
		Filter:     d.Filter,
		Unit:       d.Unit,
		Events:     len(d.Events),
		Complete:   d.Complete,
		Budget:     d.Budget,
		Cohorts:    d.cohorts(),
		Stable:     d.stable(),
		Trusted:    c.Trusted(),
	}, nil
}

// VerifyModel compares the SHA-256 of the model file at path with the certificate's. It returns [ErrModel]
// if they differ or if the run wrote no model. It does not verify the certificate itself.
func VerifyModel(c *Certificate, path string) error {
	if c.doc.ModelSHA256 == "" {
		return &fault{ErrModel, "model_sha256", `""`, "the run wrote no model"}
	}
	text, err := regular.Read(path, regular.Document)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(text)
	if sum := hex.EncodeToString(digest[:]); sum != c.doc.ModelSHA256 {
		return &fault{ErrModel, "model_sha256", c.doc.ModelSHA256,
			fmt.Sprintf("%s has %s: it is not the certified model, or was altered", path, sum)}
	}
	return nil
}
