package certificate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Write writes the certificate to path, replacing a file that is there. The file
// appears under its name whole or not at all.
func (c *Certificate) Write(path string) error {
	if len(c.text) == 0 {
		return errors.New("certificate: the zero Certificate claims nothing")
	}
	if err := replace(path, c.text); err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	return nil
}

// replace writes to a temporary file beside path and renames it, and waits until
// both are on disk.
func replace(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, ".certificate-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if _, err := file.Write(data); err != nil {
		return err
	}
	if err := file.Chmod(0o644); err != nil { // it is public
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	if runtime.GOOS == "windows" { // which has no such operation
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
