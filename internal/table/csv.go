package table

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

const byteOrderMark = "\uFEFF"

type csvReader struct {
	path   string
	file   io.Closer
	watch  watch
	rows   records
	header []string
	err    error // sticky; io.EOF at the end of the table
}

func newCSV(path string, file io.Closer, w watch, src *bufio.Reader) (*csvReader, error) {
	if start, _ := peek(src, len(byteOrderMark)); string(start) == byteOrderMark {
		src.Discard(len(byteOrderMark))
	}
	r := &csvReader{path: path, file: file, watch: w, rows: records{src: src, most: mostHeader, cells: mostHeader}}
	header, err := r.rows.next()
	if err != nil && err != io.EOF && err != errQuote && err != errLong {
		return nil, r.fault(err)
	}
	if rule := headerRule(header, err); rule != "" {
		return nil, &Error{path, rule, nil}
	}
	r.header = slices.Clone(header)
	// One cell more than the header has tells a row that has too many.
	r.rows.most, r.rows.cells, r.rows.skip = mostRecord, len(header)+1, true
	return r, nil
}

// headerRule returns the rule that a header row breaks, or "".
func headerRule(cells []string, err error) string {
	switch {
	case err == io.EOF:
		return "is empty: a table starts with a header row"
	case err == errQuote:
		return "the header row is not valid CSV"
	case err == errLong:
		return fmt.Sprintf("the header row, up to its newline, is longer than %d bytes", mostHeader)
	case slices.ContainsFunc(cells, func(s string) bool { return !utf8.ValidString(s) }):
		return "the header row is not UTF-8: " + supported
	case slices.ContainsFunc(cells, func(s string) bool { return strings.ContainsRune(s, '\r') }):
		return "lines must end in LF or CRLF: those of the header row end in CR alone"
	case len(cells) == 1 && strings.ContainsAny(cells[0], ";\t|"):
		return "the fields of the header row are not separated by commas: " + supported
	}
	return ""
}

func (r *csvReader) Header() []string { return slices.Clone(r.header) }

func (r *csvReader) Next() (cells []string, ok bool, err error) {
	if r.err == nil {
		cells, err = r.rows.next()
		switch err {
		case nil:
			return cells, true, nil
		case errQuote, errLong:
			return nil, true, nil
		}
		r.err = r.fault(err)
	}
	if r.err == io.EOF {
		return nil, false, nil
	}
	return nil, false, r.err
}

// fault words what ended the reading. The end itself is a fault if the file is
// no longer what it was.
func (r *csvReader) fault(err error) error {
	switch {
	case r.watch.changed():
		return &Error{r.path, "changed while it was read: leave it as it is and start again", nil}
	case err == io.EOF:
		return err
	}
	return fault(r.path, err)
}

func (r *csvReader) Close() error { return r.file.Close() }
