package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
)

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
