package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLargestFiles tests the size in bytes up to which each file is read that a user may have from somebody else. A file
// with one byte more is refused before it is read, and the error names the size.
func TestLargestFiles(t *testing.T) {
	const mebibyte = 1 << 20
	dir := t.TempDir()
	sparse := func(path string, size int64) string {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size+1); err != nil {
			t.Fatal(err)
		}
		return path
	}
	small := filepath.Join(dir, "small")
	if err := os.WriteFile(small, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		most int64
		args []string // FILE is the large file
	}{
		{512 * mebibyte, []string{"certificate", "sign", "FILE", "--key", small}},
		{mebibyte, []string{"certificate", "verify", small, "--signers", "FILE"}},
		{mebibyte, []string{"certificate", "verify", small, "--signers", small, "--signature", "FILE"}},
		{64 * mebibyte, []string{"account", "--events", "FILE", "--delta", "1e-6"}},
		{64 * mebibyte, []string{"predict", "FILE", small}},
		{64 * mebibyte, []string{"export", "FILE", "--sql", "duckdb"}},
		{4 * mebibyte, []string{"fit", "FILE"}},
		{512 * mebibyte, []string{"report", "FOLDER"}},
	} {
		own := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(own, 0o700); err != nil {
			t.Fatal(err)
		}
		path := sparse(filepath.Join(own, "certificate.json"), c.most)
		args := strings.Split(strings.NewReplacer("FILE", path, "FOLDER", own).Replace(strings.Join(c.args, "\x00")), "\x00")
		var out bytes.Buffer
		code := run(context.Background(), args, &console{out: &out, err: &out})
		if want := fmt.Sprintf("is larger than %d bytes", c.most); code == 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%v: %d, %s: must be that it %s", c.args, code, out.String(), want)
		}
	}
}
