package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Write writes the model to path, replacing a file that is there, and returns
// the SHA-256 of the file in lower-case hexadecimal. The file appears under its
// name whole or not at all.
func (m *Model) Write(path string) (digest string, err error) {
	data, err := m.encode()
	if err != nil {
		return "", err
	}
	if err := replace(path, data); err != nil {
		return "", fmt.Errorf("model: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

func (m *Model) encode() ([]byte, error) {
	if m.schema == nil {
		return nil, errors.New("model: the zero Model has no file")
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(document{
		Format:      Format,
		Version:     Version,
		Software:    m.software,
		Complete:    m.complete,
		Privacy:     m.privacy,
		Loss:        m.loss.Name(),
		Regularizer: m.regularizer.Name(),
		Schema:      m.schema,
		Features:    m.schema.Features(),
		Weights:     m.weights,
	})
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return b.Bytes(), nil
}

// replace writes to a temporary file beside path and renames it, and waits until
// both are on disk.
func replace(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, ".model-*")
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
