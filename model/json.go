package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/strictjson"
)

// checkJSON returns an error unless data is exactly one JSON value in UTF-8, without null and without a
// repeated key. Keys that differ only in case count as repeated, since package json does not distinguish them.
func checkJSON(data []byte) error {
	f := strictjson.Checker{Same: fold}.Check(data)
	switch {
	case f == nil:
		return nil
	case f.Value != "":
		return fmt.Errorf("%s = %s: %s", safetext.Text(f.Field), f.Value, f.Rule)
	}
	return errors.New(prefix(safetext.Text(f.Field), ": ") + f.Rule)
}

// fold maps keys that differ only in case, which package json does not distinguish, to the same text.
func fold(key string) string { return strings.ToLower(strings.ToUpper(key)) }

// checkMembers returns an error if data is not a JSON object or lacks one of the keys in exactly this
// spelling. field is the object's path for errors; "" for the whole file.
func checkMembers(field string, data json.RawMessage, keys ...string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("%smust be an object", prefix(field, ": "))
	}
	for _, key := range keys {
		if _, given := members[key]; !given {
			return fmt.Errorf("%s%s: is missing", prefix(field, "."), key)
		}
	}
	return nil
}

func prefix(field, separator string) string {
	if field == "" {
		return ""
	}
	return field + separator
}

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
