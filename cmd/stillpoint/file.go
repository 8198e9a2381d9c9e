package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
)

// writeFile writes the output of the function write to the file named path. It writes to a temporary file
// first, which gets the final name when it is complete. If an error occurs, an existing file is unchanged. An
// existing file is replaced; if it is one of the files inputs, writeFile returns an error. If path is a
// device or a pipe, writeFile writes directly to it.
func writeFile(path string, inputs []string, write func(io.Writer) error) (err error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := write(f); err != nil {
			f.Close()
			return err
		}
		return f.Close()
	}
	for _, input := range inputs {
		if other, err := os.Stat(input); err == nil && info != nil && os.SameFile(info, other) {
			return fmt.Errorf("output %s: is %s, which is read: choose another --out", path, input)
		}
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	partial := path + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(partial)
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(partial, path)
}

// inFolder returns the path of the file name in the folder path, or path if it is no folder or lacks the file.
func inFolder(path, name string) string {
	if _, err := os.Stat(filepath.Join(path, name)); err != nil {
		return path
	}
	return filepath.Join(path, name)
}

// csvFlags are the flags for the format of a text table, for commands without a configuration.
type csvFlags struct {
	Delimiter string   `help:"Separator of the table's fields: a character, or tab." placeholder:"C" group:"Tables that are text"`
	Decimal   string   `help:"The decimal mark of its numbers." placeholder:"C" group:"Tables that are text"`
	Thousands string   `help:"Separator of thousands in its numbers." placeholder:"C" group:"Tables that are text"`
	Encoding  string   `help:"utf-8, utf-16, utf-16le, utf-16be, latin-1 or windows-1252." placeholder:"NAME" group:"Tables that are text"`
	Quote     string   `help:"Quotation mark around its fields: a character, or none." placeholder:"C" group:"Tables that are text"`
	Names     []string `help:"Names of its columns, if it has no header row." placeholder:"NAME" name:"names" group:"Tables that are text"`
}

func (f csvFlags) csv() dataset.CSV {
	return dataset.CSV{Delimiter: f.Delimiter, Decimal: f.Decimal, Thousands: f.Thousands, Encoding: f.Encoding,
		Quote: f.Quote, Header: f.Names}
}

// fingerprint returns a keyed hash of a table's header and cells, in order, as hexadecimal digits. A copy of
// a table has the same fingerprint, even if only one of the two is compressed. The key is hashed before and
// after the table, as in HMAC, so that a fingerprint reveals nothing to anybody without the key.
func fingerprint(ctx context.Context, path string, as dataset.CSV, key string) (string, error) {
	t, err := table.Open([]string{path}, as)
	if err != nil {
		return "", err
	}
	defer t.Close()
	inner := sha256.New()
	inner.Write([]byte("inner " + key))
	add := func(cells []string) {
		inner.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(cells))))
		for _, cell := range cells {
			inner.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(cell))))
			inner.Write([]byte(cell))
		}
	}
	add(t.Header())
	for {
		cells, ok, err := t.Next()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return "", err
		}
		if !ok {
			break
		}
		add(cells)
	}
	outer := sha256.Sum256(append([]byte("outer "+key), inner.Sum(nil)...))
	return hex.EncodeToString(outer[:]), nil
}
