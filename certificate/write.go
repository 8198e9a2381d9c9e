package certificate

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
)

// Write writes the certificate to path and replaces an existing file. After a crash, path holds either the
// whole new file or what it held before.
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

// Bytes returns the bytes of the file that Write writes. It returns an error for the zero Certificate.
func (c *Certificate) Bytes() ([]byte, error) {
	if len(c.text) == 0 {
		return nil, errors.New("certificate: the zero Certificate claims nothing")
	}
	return bytes.Clone(c.text), nil
}
