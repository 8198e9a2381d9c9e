package table

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const byteOrderMark = "\uFEFF"

type csvReader struct {
	path   string
	file   io.Closer
	rows   *csv.Reader
	header []string
	err    error // sticky; io.EOF at the end of the table
}

func newCSV(path string, file io.Closer, src *bufio.Reader) (*csvReader, error) {
	if start, _ := peek(src, len(byteOrderMark)); string(start) == byteOrderMark {
		src.Discard(len(byteOrderMark))
	}
	rows := csv.NewReader(src)
	rows.FieldsPerRecord = -1
	rows.ReuseRecord = true
	rows.TrimLeadingSpace = true
	r := &csvReader{path: path, file: file, rows: rows}

	cells, ok, err := r.Next()
	if err != nil {
		return nil, err
	}
	if rule := headerRule(cells, ok); rule != "" {
		return nil, &Error{path, rule, nil}
	}
	r.header = slices.Clone(cells)
	return r, nil
}

// headerRule returns the rule that a header row breaks, or "".
func headerRule(cells []string, ok bool) string {
	switch {
	case !ok:
		return "is empty: a table starts with a header row"
	case cells == nil:
		return "the header row is not valid CSV"
	case slices.ContainsFunc(cells, func(s string) bool { return !utf8.ValidString(s) }):
		return "the header row is not UTF-8: " + supported
	case len(cells) == 1 && strings.ContainsAny(cells[0], ";\t|"):
		return "the fields of the header row are not separated by commas: " + supported
	}
	return ""
}

func (r *csvReader) Header() []string { return slices.Clone(r.header) }

func (r *csvReader) Next() (cells []string, ok bool, err error) {
	if r.err == nil {
		cells, r.err = r.rows.Read()
	}
	var malformed *csv.ParseError
	switch {
	case r.err == nil:
		return cells, true, nil
	case r.err == io.EOF:
		return nil, false, nil
	case errors.As(r.err, &malformed):
		r.err = nil
		return nil, true, nil
	}
	if _, known := r.err.(*Error); !known {
		r.err = fault(r.path, r.err)
	}
	return nil, false, r.err
}

func (r *csvReader) Close() error { return r.file.Close() }
