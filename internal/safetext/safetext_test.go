package safetext

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// shows reports whether s contains anything but graphic characters and, if lines is true, line
// ends.
func shows(s string, lines bool) bool {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return true
			}
		}
		if !unicode.IsGraphic(r) && !(lines && r == '\n') {
			return true
		}
	}
	return false
}

// everyCharacter yields the characters below U+12000, tags, and one of each block beyond.
func everyCharacter(yield func(rune) bool) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0x12000 && r>>12 != 0xe0 {
			r += 0xfff // only one character of each block
		}
		if !yield(r) {
			return
		}
	}
}

// TestEveryCharacter tests every character, and every byte that is not UTF-8, within other text.
func TestEveryCharacter(t *testing.T) {
	texts := []string{}
	for r := range everyCharacter {
		texts = append(texts, "a"+string(r)+"b")
	}
	for b := 0x80; b < 0x100; b++ {
		texts = append(texts, "a"+string([]byte{byte(b)})+"b")
	}
	for _, s := range texts {
		got := Text(s)
		if shows(got, false) {
			t.Fatalf("Text(%+q) = %+q", s, got)
		}
		if !strings.HasPrefix(got, "a") || !strings.HasSuffix(got, "b") || len(got) < 3 {
			t.Fatalf("Text(%+q) = %+q: the rest is lost", s, got)
		}
		if !shows(s, false) && got != s {
			t.Fatalf("Text(%+q) = %+q: changed for nothing", s, got)
		}
	}
	for _, r := range "\x00\a\b\t\n\v\f\r\x1b\x7f\u0085\u009b\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\ue000\U000e0041" {
		if got := Text(string(r)); len(got) < 2 || got[0] != '\\' {
			t.Errorf("Text(%+q) = %+q", r, got)
		}
	}
	if got, want := Text("\x1b[2Jé\u202e\xff"), `\x1b[2Jé\u202e\xff`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestJSONKeepsTheValue(t *testing.T) {
	var b strings.Builder
	for r := range everyCharacter {
		b.WriteRune(r)
	}
	text, err := json.MarshalIndent(map[string]string{"k\u009b": b.String()}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	safe := JSON(text)
	if shows(strings.ReplaceAll(string(safe), "\t", ""), true) {
		t.Error("not escaped")
	}
	var got map[string]string
	if err := json.Unmarshal(safe, &got); err != nil {
		t.Fatal(err)
	}
	if got["k\u009b"] != strings.ToValidUTF8(b.String(), "\ufffd") {
		t.Error("the value has changed")
	}
}

// TestWriterCutsNoCharacter tests that the output does not depend on how a text is cut into writes.
func TestWriterCutsNoCharacter(t *testing.T) {
	text := "é\u202e日\x1b😀\n\xf0\x9f\x98x\x9b\xe6\x97"
	want := `é\u202e日\x1b😀` + "\n" + `\xf0\x9f\x98x\x9b\xe6\x97`
	cuts := [][]string{strings.Split(text, "")}
	for cut := range len(text) {
		cuts = append(cuts, []string{text[:cut], text[cut:]}, append(strings.Split(text[:cut], ""), text[cut:]))
	}
	bytewise := make([]string, len(text))
	for i := range bytewise {
		bytewise[i] = text[i : i+1]
	}
	for _, parts := range append(cuts, bytewise) {
		var b bytes.Buffer
		w := NewWriter(&b)
		for _, p := range parts {
			if n, err := w.Write([]byte(p)); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Fatalf("%q: %q, want %q", parts, b.String(), want)
		}
	}
}

// TestLines: a line may have exactly the given width, a word that is longer than a line has a line of its
// own, and every line begins with the indent.
func TestLines(t *testing.T) {
	for _, c := range []struct{ text, indent, want string }{
		{"", "  ", "\n"},
		{" one  two\nsix ", "", "one two\nsix\n"},
		{"one twos six", "", "one twos\nsix\n"},
		{"one two six", " ", " one two\n six\n"},
		{"a longer-than-all b", "  ", "  a\n  longer-than-all\n  b\n"},
	} {
		if got := Lines(c.text, c.indent, 8); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// shut is a writer that takes nothing.
type shut struct{}

func (shut) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestWriterTellsErrors tests that errors of the underlying writer are returned, for whole texts and for the rest of one.
func TestWriterTellsErrors(t *testing.T) {
	w := NewWriter(shut{})
	for _, text := range []string{"plain", "\x1b[31m", "\xe2\x82"} {
		if n, err := w.Write([]byte(text)); n != 0 || err != io.ErrClosedPipe {
			t.Errorf("%q: %d, %v: must be 0 and the writer's error", text, n, err)
		}
	}
	if err := w.Flush(); err != io.ErrClosedPipe {
		t.Errorf("flush: %v", err)
	}
}

// TestUnknown tests which keys are near enough to one to name it. The key itself is never quoted.
func TestUnknown(t *testing.T) {
	known := []string{"number", "date", "category", "loss"}
	for key, want := range map[string]string{
		"nmber": "number", "numbre": "number", "Number": "number", "dat": "date", "categories": "", "catgory": "category",
		"los": "loss", "lass": "loss", "rate": "date", "cost": "", "": "", "private words of a cell": "", "loss function": "",
	} {
		got := Unknown(key, known)
		rule := "unknown key; the keys here are number, date, category, loss"
		if want != "" {
			rule += "; the nearest is " + want
		}
		if got != rule {
			t.Errorf("%q: %s: must be %s", key, got, rule)
		}
	}
}

// TestDistance compares the distance of texts with its definition by recursion.
func TestDistance(t *testing.T) {
	var slow func(a, b string) int
	slow = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		change := slow(a[1:], b[1:])
		if a[0] != b[0] {
			change++
		}
		return min(change, slow(a[1:], b)+1, slow(a, b[1:])+1)
	}
	words := []string{"", "a", "ab", "ba", "abc", "acb", "bcab", "aabb", "bbaac"}
	for _, a := range words {
		for _, b := range words {
			if got := distance(a, b); got != slow(a, b) {
				t.Errorf("%q to %q: %d: must be %d", a, b, got, slow(a, b))
			}
		}
	}
}

// told is a writer whose writes fail with the errors of a list, in turn, and succeed after them.
type told struct {
	strings.Builder
	errs []error
}

func (w *told) Write(p []byte) (int, error) {
	if len(w.errs) == 0 {
		return w.Builder.Write(p)
	}
	err := w.errs[0]
	w.errs = w.errs[1:]
	if err != nil {
		return 0, err
	}
	return w.Builder.Write(p)
}

// TestWriterKeepsItsFirstError tests which error Flush returns, each time that it is called: the first of all writes, its
// own included, whatever comes after it.
func TestWriterKeepsItsFirstError(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	for name, c := range map[string]struct {
		errs       []error
		text, want string
		err        error
	}{
		"none":              {nil, "a\xe2", "a\\xe2", nil},
		"of a write":        {[]error{first}, "a", "", first},
		"of both":           {[]error{first, second}, "a", "", first},
		"of two writes":     {[]error{first, second}, "a", "", first},
		"of the flush":      {[]error{nil, second}, "a\xe2", "a", second},
		"of a later write":  {[]error{nil, second, first}, "a", "a", second},
		"of the first only": {[]error{first, nil}, "a\xe2", "\\xe2", first},
	} {
		to := &told{errs: c.errs}
		w := NewWriter(to)
		_, _ = w.Write([]byte(c.text))
		if name == "of two writes" {
			_, _ = w.Write([]byte(c.text))
		}
		for range 3 {
			if err := w.Flush(); err != c.err {
				t.Errorf("%s: %v: must be %v", name, err, c.err)
			}
		}
		if to.String() != c.want {
			t.Errorf("%s: %q: must be %q", name, to.String(), c.want)
		}
	}
}

// TestSpaceInJSON tests that the white space between the values of JSON stays.
func TestSpaceInJSON(t *testing.T) {
	const text = "{\r\n\t\"a\": 1\n}"
	if got := string(JSON([]byte(text))); got != text {
		t.Errorf("%q: must be %q", got, text)
	}
}
