package certificate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/internal/regular"
)

// Verify recomputes everything that the certificate states and can be
// recomputed without the data:
//
//   - the checksum ([ErrAltered] if it differs; it is not a signature);
//   - epsilon, from mu and delta or from the schedule: at most the claimed one;
//   - that mu is a filter's for the claimed epsilon and delta, no smaller one;
//   - the charge of each event, from its sensitivity and noise: at most the
//     stated one;
//   - the largest total charged to any record: as stated, and at most mu^2;
//   - that events state the claim's relation, are of kinds that the basis counts,
//     and speak of no more cohorts than there are records;
//   - that what releases by stability trust of a loss is listed as trusted;
//   - that the coins were secret, and that relation, basis, counts and names are
//     those a guarantee can be stated for.
//
// Any failure but the first is [ErrUnsound]; a cancelled context is its own error. See the package comment for what a
// verified certificate does not prove.
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
		return nil, unsound("coins", strconv.Quote(string(d.Coins)), "must be %q: noise from other coins protects nobody", Secret)
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

// VerifyModel reports whether the file at path is the model the certificate
// speaks of; if not, the error is [ErrModel]. It says nothing about the
// certificate itself.
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
		return &fault{ErrModel, "model_sha256", c.doc.ModelSHA256, fmt.Sprintf("%s has %s: it is not the certified model, or was altered", path, sum)}
	}
	return nil
}
