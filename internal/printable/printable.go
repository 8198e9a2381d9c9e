// Package printable makes text from files fit to be shown: names of columns and
// files, words of a certificate, whatever a stranger may have written. A
// terminal obeys control characters, and characters that turn the direction of
// writing make a line read as another one.
//
// [Text] is for a text within a line; whoever words a line or an error around
// text from a file passes it through Text or quotes it as by strconv. [Writer]
// stands before the terminal and catches what was not.
package printable

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Text returns s with everything that is not a graphic character (letters,
// marks, digits, punctuation, symbols, spaces) written as an escape of Go: \n,
// \x1b, \u202e. Line ends, DEL, the controls of C1, invisible and bidirectional
// formatting and bytes that are not UTF-8 are among it.
func Text(s string) string {
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	return string(appendText(nil, []byte(s), false))
}

// hidden reports a character that Text does not show as it is. A byte that is
// not UTF-8 is read as utf8.RuneError, which is graphic, and so is not told from
// a replacement character here: appendText tells them apart.
func hidden(r rune) bool { return !unicode.IsGraphic(r) || r == utf8.RuneError }

// appendText appends the text of s; lines keeps line ends.
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

// JSON returns a JSON text with the same characters inside its strings written
// as \u escapes of JSON: the value stays what it is. Outside strings, where none
// of them but white space can stand, line ends and tabs are kept.
func JSON(text []byte) []byte {
	dst := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case unicode.IsGraphic(r) || r == '\n' || r == '\t' || r == '\r':
			dst = utf8.AppendRune(dst, r) // of a byte that is not UTF-8: U+FFFD
		case r > 0xffff:
			// JSON has no longer escape: a pair of surrogates.
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

// Writer passes text on as [Text] does, but keeps line ends. A character may be
// split between two writes. It is safe for concurrent use.
type Writer struct {
	w    io.Writer
	mu   sync.Mutex
	rest []byte // the start of a character
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Unwrap returns what is written to.
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
		return 0, err
	}
	return len(p), nil
}

// Flush writes the start of a character that nothing followed.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.rest
	w.rest = nil
	_, err := w.w.Write(appendText(nil, s, true))
	return err
}
