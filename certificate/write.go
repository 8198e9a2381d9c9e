package certificate

import (
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
)

// Write writes the certificate to path, replacing a file that is there. The file
// appears under its name whole or not at all.
func (c *Certificate) Write(path string) error {
	if len(c.text) == 0 {
		return errors.New("certificate: the zero Certificate claims nothing")
	}
	if err := durable.WriteFile(path, c.text); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	return nil
}
