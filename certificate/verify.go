package certificate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
)

// Verify recomputes everything in the certificate that can be recomputed without the data. It returns an
// error unless all of these hold:
//
//   - the checksum is right (it is not a signature);
//   - epsilon, recomputed from mu and delta or from the schedule, is at most the claimed epsilon;
//   - with [BasisGaussianFilter], mu is the largest mu for the claimed epsilon and delta;
//   - the charge of each event, recomputed from its sensitivity and noise, is at most the stated charge;
//   - the largest total charged to any record equals the stated total, and is at most mu^2;
//   - every event states the claim's relation and is of a kind that the basis counts;
//   - no event states a cohort above the number of records;
//   - the assumptions of releases by stability are listed as trusted;
//   - the random bits were secret;
//   - relation, basis, counts and names have valid values.
//
// A wrong checksum gives [ErrAltered], every other failure [ErrUnsound]. If the context is cancelled,
// Verify returns the context's error. The package comment says what a verified certificate does not prove.
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

// VerifyModel compares the SHA-256 of the model file at path with the SHA-256 that the certificate states.
// It returns [ErrModel] if they differ or if the run wrote no model. It does not verify the certificate
// itself.
func VerifyModel(c *Certificate, path string) error {
	if c.doc.ModelSHA256 == "" {
		return &fault{ErrModel, "model_sha256", `""`, "the run wrote no model"}
	}
	text, err := regularfile.Read(path, regularfile.Document)
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

// A certificate's file consists of three parts: the head, the line with the checksum, and the tail.
// The checksum covers head and tail.
const (
	checksumStart = `  "checksum": `
	checksumKind  = "sha256:"
	tail          = "}\n"
)

// seal returns the whole file of a certificate: head, which is the text before the line with the checksum,
// then this line, then the end of the file.
func seal(head []byte) []byte {
	return slices.Concat(head, []byte(checksumStart+strconv.Quote(checksum(head))+"\n"+tail))
}

// checksum returns the checksum of a file with the given head: "sha256:" and the SHA-256 of head and tail
// in hexadecimal.
func checksum(head []byte) string {
	h := sha256.New()
	h.Write(head)
	h.Write([]byte(tail))
	return checksumKind + hex.EncodeToString(h.Sum(nil))
}

// checkSeal recomputes the checksum. It returns ErrAltered if the stated checksum differs from it, or if
// the line with the checksum is not at the place where seal writes it.
func (c *Certificate) checkSeal() error {
	altered := func(rule string) error {
		return &fault{ErrAltered, "checksum", strconv.Quote(c.checksum), rule}
	}
	body, found := bytes.CutSuffix(c.text, []byte("\n"+tail))
	line := bytes.LastIndexByte(body, '\n') + 1
	if !found || !bytes.HasPrefix(body[line:], []byte(checksumStart)) ||
		bytes.Count(c.text, []byte("\n"+checksumStart)) != 1 {
		return altered("must stand alone on the last line but one: the file was reformatted or edited")
	}
	head := body[:line]
	if want := checksum(head); c.checksum != want || string(body[line:]) != checksumStart+strconv.Quote(want) {
		return altered("must be " + want + ", that of the rest of the file: the file was altered since it was written")
	}
	return nil
}
