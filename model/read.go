package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
	"github.com/stillpoint-dp/stillpoint/internal/strictjson"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Every model file begins with format and a version. The version is version for a model with one weight for
// each feature, and wideVersion for a model with another number of weights.
const (
	format      = "stillpoint model"
	version     = 1
	wideVersion = 2
)

// version returns the version that the model's file must have, version or wideVersion.
func (m *Model) version() int {
	if len(m.weights) == m.schema.Dim() {
		return version
	}
	return wideVersion
}

// document is the JSON form of the model file. The order of its fields is the order of the file's
// members.
type document struct {
	Format      string          `json:"format"`
	Version     int             `json:"version"`
	Software    string          `json:"software"`
	Complete    bool            `json:"complete"`
	Warnings    []Warning       `json:"warnings,omitempty"`
	Privacy     Privacy         `json:"privacy"`
	Loss        string          `json:"loss"`
	Regularizer string          `json:"regularizer"`
	Schema      *dataset.Schema `json:"schema"`
	Features    []string        `json:"features"`
	Weights     []float64       `json:"weights"`
	CSV         dataset.CSV     `json:"csv,omitzero"`
	Clamped     bool            `json:"clamped,omitzero"`
	Inference   json.RawMessage `json:"inference,omitempty"`
}

// Read reads a model file. It returns an error if the file does not have the form described in the package comment, or
// if [New] returns an error for its content. Errors about the content name the file, the field, its value and the rule.
func Read(path string) (*Model, error) {
	data, err := regularfile.Read(path, regularfile.Document)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	m, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Parse parses the bytes of a model file; see [Read].
func Parse(data []byte) (*Model, error) {
	d, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	p := Params{Software: d.Software, Complete: d.Complete, Privacy: d.Privacy, Schema: d.Schema, Weights: d.Weights,
		CSV: d.CSV, Clamped: d.Clamped, Warnings: d.Warnings, Inference: d.Inference}
	if p.Loss, err = loss.Parse(d.Loss); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if p.Regularizer, err = loss.ParseRegularizer(d.Regularizer); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	m, err := New(p)
	if err != nil {
		return nil, err
	}
	if d.Version != m.version() {
		return nil, fmt.Errorf("model: version = %d: must be %d for %d weights and %d features", d.Version, m.version(),
			len(m.weights), m.schema.Dim())
	}
	if want := m.schema.Features(); !slices.Equal(d.Features, want) {
		return nil, fmt.Errorf("model: features%s", difference(d.Features, want))
	}
	if d.Loss != p.Loss.Name() || d.Regularizer != p.Regularizer.Name() {
		return nil, fmt.Errorf("model: loss = %q, regularizer = %q: must be written %q, %q", d.Loss, d.Regularizer,
			p.Loss.Name(), p.Regularizer.Name())
	}
	return m, nil
}

func decode(data []byte) (d document, err error) {
	if f := (strictjson.Checker{Same: fold}).Check(data); f != nil {
		return d, f
	}
	o := strictjson.NewObject("", data, &err)
	if o.Read("format", &d.Format); d.Format != format {
		o.Fail("format", strconv.Quote(d.Format), "must be "+strconv.Quote(format))
	}
	if o.Read("version", &d.Version); d.Version != version && d.Version != wideVersion {
		o.Fail("version", strconv.Itoa(d.Version), "must be 1 or 2, the versions this program reads")
	}
	o.Into(&d)
	return d, err
}

// difference describes the first difference between two lists of names, as the end of an error's text. got
// and want must differ.
func difference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("[%d] = %q: must be %q, by the schema", i, got[i], want[i])
		}
	}
	return fmt.Sprintf(": %d of them: must be %d, by the schema", len(got), len(want))
}

// fold maps keys that differ only in case, which package json does not distinguish, to the same text.
func fold(key string) string { return strings.ToLower(strings.ToUpper(key)) }

// Write writes the model to the file named path. It replaces an existing file. It returns the SHA-256 of the
// file in lower-case hexadecimal. The new file appears at path with its whole content or not at all.
func (m *Model) Write(path string) (digest string, err error) {
	data, err := m.Bytes()
	if err != nil {
		return "", err
	}
	if err := durable.WriteFile(path, data); err != nil {
		return "", fmt.Errorf("model: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// Bytes returns the content of the file that Write writes. The zero Model gives an error.
func (m *Model) Bytes() ([]byte, error) {
	if m.schema == nil {
		return nil, errors.New("model: the zero Model has no file")
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(document{
		Format:      format,
		Version:     m.version(),
		Software:    m.software,
		Complete:    m.complete,
		Privacy:     m.privacy,
		Loss:        m.loss.Name(),
		Regularizer: m.regularizer.Name(),
		Schema:      m.schema,
		CSV:         m.csv,
		Features:    m.schema.Features(),
		Weights:     m.weights,
		Clamped:     m.clamped,
		Warnings:    m.warnings,
		Inference:   m.written,
	})
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return b.Bytes(), nil
}
