// Package safetext makes text from files safe to show: names of columns and files, texts of a
// certificate, and any other text that a stranger may have written. A terminal executes control characters,
// and characters that change the writing direction can make a line look like another line.
//
// [Text] is for a text within a line. Code that puts text from a file into a line or an error
// passes the text through Text or quotes it as package strconv does. [Writer] wraps the terminal and
// escapes all text that is written to it, in case some text did not pass through Text.
package safetext

import (
	"cmp"
	"io"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// Text returns s with every character that is not graphic written as a Go escape, such as \n, \x1b or
// \u202e. Graphic characters are letters, marks, digits, punctuation, symbols and spaces. Text escapes line
// ends and other control characters, invisible and bidirectional formatting, and bytes that are not UTF-8.
func Text(s string) string {
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	return string(appendText(nil, []byte(s), false))
}

// hidden reports whether r is a character that Text may have to escape. A byte that is not UTF-8 decodes to
// utf8.RuneError. A replacement character in the text decodes to the same rune, but need not be escaped.
// appendText distinguishes the two cases.
func hidden(r rune) bool { return !unicode.IsGraphic(r) || r == utf8.RuneError }

// appendText appends the escaped text of s. If lines is true, it keeps line ends.
func appendText(dst, s []byte, lines bool) []byte {
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && size == 1:
			const hex = "0123456789abcdef"
			dst = append(dst, '\\', 'x', hex[s[0]>>4], hex[s[0]&15])
		case unicode.IsGraphic(r) || lines && r == '\n':
			dst = append(dst, s[:size]...)
		default:
			quoted := strconv.QuoteRune(r)
			dst = append(dst, quoted[1:len(quoted)-1]...)
		}
		s = s[size:]
	}
	return dst
}

// JSON returns a JSON text in which every character that Text would escape is written as a JSON \u escape.
// Line ends and tabs stay as they are. In a valid JSON text all other characters that Text would escape are
// inside strings, where the JSON escape does not change the value.
func JSON(text []byte) []byte {
	dst := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case unicode.IsGraphic(r) || r == '\n' || r == '\t' || r == '\r':
			dst = utf8.AppendRune(dst, r) // a byte that is not UTF-8 becomes U+FFFD
		case r > 0xffff:
			// An escape of JSON has four hexadecimal digits, so the character is written as two surrogates.
			r -= 0x10000
			dst = appendEscape(appendEscape(dst, 0xd800+r>>10), 0xdc00+r&0x3ff)
		default:
			dst = appendEscape(dst, r)
		}
		text = text[size:]
	}
	return dst
}

func appendEscape(dst []byte, r rune) []byte {
	digits := strconv.FormatInt(int64(r)|0x10000, 16)
	return append(append(dst, '\\', 'u'), digits[1:]...)
}

// Writer escapes text as [Text] does, but keeps line feeds, and writes the result to another writer. The
// bytes of a character may be split between two writes. A Writer is safe for concurrent use.
type Writer struct {
	w    io.Writer
	mu   sync.Mutex
	rest []byte // the incomplete character at the end of the last write
	err  error  // the first error of w
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Unwrap returns the underlying writer.
func (w *Writer) Unwrap() io.Writer { return w.w }

func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := append(w.rest, p...)
	end := len(s)
	for back := 1; back < utf8.UTFMax && back <= len(s); back++ {
		if at := len(s) - back; utf8.RuneStart(s[at]) {
			if !utf8.FullRune(s[at:]) {
				end = at
			}
			break
		}
	}
	w.rest = append([]byte(nil), s[end:]...)
	if _, err := w.w.Write(appendText(nil, s[:end], true)); err != nil {
		w.err = cmp.Or(w.err, err)
		return 0, err
	}
	return len(p), nil
}

// Flush writes the bytes of an incomplete character at the end of the text, escaped. It returns the first error of all
// writes.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.rest
	w.rest = nil
	_, err := w.w.Write(appendText(nil, s, true))
	w.err = cmp.Or(w.err, err)
	return w.err
}

// Lines breaks a text at its white space into lines that begin with indent and have at most width bytes,
// indent included. Each line ends in a line feed. A word that is too long for a line has a line of its own.
// For a text without a word Lines returns one line feed.
func Lines(text, indent string, width int) string {
	var b strings.Builder
	length := 0
	for _, word := range strings.Fields(text) {
		switch {
		case length == 0:
			b.WriteString(indent)
			length = len(indent)
		case length+1+len(word) > width:
			b.WriteString("\n" + indent)
			length = len(indent)
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	b.WriteByte('\n')
	return b.String()
}

// Table returns a head and rows as lines whose cells are aligned in columns. It escapes the cells as [Text] does.
func Table(head []string, rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			if i > 0 {
				_, _ = io.WriteString(w, "\t")
			}
			_, _ = io.WriteString(w, Text(cell))
		}
		_, _ = io.WriteString(w, "\n")
	}
	_ = w.Flush() // writing to a strings.Builder gives no error
	return b.String()
}

// Few joins names with commas: all of at most five, and otherwise the first four and the number of the others.
func Few(names []string) string {
	if n := len(names) - 4; n > 1 { // never "1 others"
		names = append(names[:4:4], strconv.Itoa(n)+" others")
	}
	return strings.Join(names, ", ")
}

// Unknown returns the rule about a key that is none of the known ones. It names the nearest known key if the key is
// one or two letters off, and does not quote the key: the file may be a table.
func Unknown(key string, known []string) string {
	rule := "unknown key; the keys here are " + strings.Join(known, ", ")
	nearest, least := "", 3
	for _, k := range known {
		if d := distance(key, k); d < least && d < len(k)/2 {
			nearest, least = k, d
		}
	}
	if nearest == "" {
		return rule
	}
	return rule + "; the nearest is " + nearest
}

// distance returns the least number of bytes to insert, delete or replace that makes one text of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
