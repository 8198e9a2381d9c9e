package budget

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// CertificateFormat is the value of "format" in every certificate of a dataset.
const CertificateFormat = "stillpoint budget certificate"

// MostCertificate is the largest size of a certificate in bytes. It is enough for about a million
// rows.
const MostCertificate = 512 << 20

// certificate is the JSON content of a dataset's certificate. Rows are the rows of the chain in
// order, each with exactly the bytes that are hashed. Head is the hash of the last row.
type certificate struct {
	Format  string            `json:"format"`
	Version int               `json:"version"`
	Dataset string            `json:"dataset"`
	Head    string            `json:"head"`
	Rows    []json.RawMessage `json:"rows"`
}

// Certificate returns the whole chain of a dataset as a JSON file, which [Verify] can verify
// without the store. It checks the chain first.
func (b *Book) Certificate(ctx context.Context, name string) ([]byte, error) {
	t, err := b.store.View(ctx, name, 0)
	if err != nil {
		return nil, failed(err)
	}
	c := newChain(name)
	if err := c.follow(t); err != nil {
		return nil, err
	}
	if c.number == 0 {
		return nil, missing(name)
	}
	var w bytes.Buffer
	quoted, err := json.Marshal(name)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&w, "{\n  \"format\": %q,\n  \"version\": 1,\n  \"dataset\": %s,\n  \"head\": %q,\n  \"rows\": [",
		CertificateFormat, quoted, c.head)
	for i, r := range t.Rows {
		if i > 0 {
			w.WriteByte(',')
		}
		fmt.Fprintf(&w, "\n    %s", r.Text)
	}
	w.WriteString("\n  ]\n}\n")
	return w.Bytes(), nil
}

// Verify verifies a dataset's certificate and returns the dataset's state. It recomputes every row's hash from the
// first row on. It tests three things: the rules allow each row after the rows before it, each run's cost covers its
// releases, and the sum of the costs never exceeds the cap. For a run with sampling, Verify composes the schedule
// again. If a test fails or the text is malformed, the error is [ErrChain]. If the context ends before the
// verification, Verify returns the context's error.
func Verify(ctx context.Context, text []byte) (*Dataset, error) {
	var f certificate
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%w: certificate: must be JSON as stillpoint budget show writes it", ErrChain)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: certificate: must be one JSON object", ErrChain)
	}
	if f.Format != CertificateFormat || f.Version != 1 {
		return nil, fmt.Errorf("%w: certificate: format = %q, version = %d: must be %q, 1", ErrChain, f.Format, f.Version,
			CertificateFormat)
	}
	c := newChain(f.Dataset)
	if err := checkName("dataset", f.Dataset); err != nil {
		return nil, fmt.Errorf("%w: certificate: %w", ErrChain, err)
	}
	costs := make(map[string]bool)
	for i, raw := range f.Rows {
		r := Row{Text: string(raw), Hash: chained(c.head, string(raw))}
		if err := c.recheck(ctx, r, costs); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err() // the certificate is neither valid nor invalid
			}
			return nil, fmt.Errorf("certificate: rows[%d]: %w", i, err)
		}
	}
	if c.number == 0 || c.head != f.Head {
		return nil, c.broken("head = %.12s: must be the hash of the last row, %.12s", f.Head, c.head)
	}
	return c.dataset()
}

// recheck verifies a row of a certificate and appends it to the chain. For a run that releases on
// Poisson samples it composes the schedule again, unless it has done so for an earlier run with the
// same relation, mu, schedule and cost. costs has a key for each such combination.
func (c *chain) recheck(ctx context.Context, r Row, costs map[string]bool) error {
	e, err := parse(r.Text)
	if err != nil {
		return c.broken("%v", err)
	}
	sampled := false
	if e.Kind == kindReserved && e.Limit.samples() {
		key := fmt.Sprint(e.Limit.Relation, e.Limit.Mu, e.Limit.Schedule, *e.Cost)
		sampled = !costs[key]
		costs[key] = true
	}
	if err := c.admit(ctx, e, sampled); err != nil {
		return c.broken("%v", err)
	}
	c.apply(e, r.Hash)
	return nil
}
