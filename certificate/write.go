package certificate

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
)

// Write writes the certificate to path, replacing a file that is there. The file
// appears under its name whole or not at all.
func (c *Certificate) Write(path string) error {
	text, err := c.Bytes()
	if err != nil {
		return err
	}
	if err := durable.WriteFile(path, text); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	return nil
}

// Bytes returns what Write writes.
func (c *Certificate) Bytes() ([]byte, error) {
	if len(c.text) == 0 {
		return nil, errors.New("certificate: the zero Certificate claims nothing")
	}
	return bytes.Clone(c.text), nil
}
