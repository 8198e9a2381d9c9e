// Package recordedtest compares the outputs of tests with recorded files. A recording sees every change of an output. A
// test with a computation of its own says which of two outputs is right.
package recordedtest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the recorded files of testdata anew")

// File returns the text of a recorded file. With -update it first writes got to the file.
func File(t *testing.T, path, got string) string {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Compare fails if got differs from the text of a recorded file. With -update it writes the file.
func Compare(t *testing.T, path, got string) {
	t.Helper()
	lines(t, path, File(t, path, got), got)
}

// CompareStart compares got with the part of a recorded file before the text end. It never writes the file.
func CompareStart(t *testing.T, path, end, got string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	start, _, _ := strings.Cut(string(text), end)
	lines(t, path, start, got)
}

func lines(t *testing.T, path, was, is string) {
	t.Helper()
	then, now := strings.Split(was, "\n"), strings.Split(is, "\n")
	if len(then) != len(now) {
		t.Errorf("%s: %d lines: must be %d", path, len(now), len(then))
	}
	shown := 0
	for i := range min(len(then), len(now)) {
		if then[i] != now[i] && shown < 10 {
			t.Errorf("%s:%d:\nnow  %.500s\nthen %.500s", path, i+1, now[i], then[i])
			shown++
		}
	}
}

var (
	numberAtEnd = regexp.MustCompile(`-?\d+(\.\d+)?(e[-+]?\d+)?,?\n`)
	shortLine   = regexp.MustCompile(`\n +("(low|high|cells|do)"|\})`)
)

// JSON writes a value as indented JSON, with numbers of seven significant digits.
func JSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	text = numberAtEnd.ReplaceAllFunc(text, func(of []byte) []byte {
		number := strings.TrimSuffix(strings.TrimSuffix(string(of), "\n"), ",")
		x, _ := strconv.ParseFloat(number, 64) // a number, by the pattern
		return []byte(fmt.Sprintf("%.7g", x) + strings.TrimPrefix(string(of), number))
	})
	return shortLine.ReplaceAllString(string(text), " $1") + "\n"
}
