package table

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// TestChangedWhileRead tests that a table which has changed since it was opened returns an error at
// its end, that the error reveals nothing about records, and that reading the file with another
// program causes no error.
func TestChangedWhileRead(t *testing.T) {
	const content = "a,b\n1,2\n3,4\n5,6\n"
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-time.Hour).Truncate(time.Second)
	write := func(path, text string, at time.Time) {
		must(os.WriteFile(path, []byte(text), 0o600))
		must(os.Chtimes(path, at, at))
	}
	for _, test := range []struct {
		name    string
		changes bool
		change  func(path string)
	}{
		{"nothing", false, func(string) {}},
		{"access", false, func(path string) { must(os.Chtimes(path, time.Now(), before)) }},
		{"permissions", false, func(path string) { must(os.Chmod(path, 0o400)) }},
		{"another name", false, func(path string) { must(os.Link(path, path+".link")) }},
		{"appended", true, func(path string) { write(path, content+"7,8\n", before) }},
		{"cut", true, func(path string) { write(path, content[:8], before) }},
		{"emptied", true, func(path string) { write(path, "", before) }},
		{"overwritten in place", true, func(path string) { write(path, strings.Replace(content, "3", "9", 1), time.Now()) }},
		{"time", true, func(path string) { must(os.Chtimes(path, before, before.Add(time.Nanosecond))) }},
		{"replaced by a copy", true, func(path string) {
			write(path+".new", content, before)
			must(os.Rename(path+".new", path))
		}},
		{"removed", true, func(path string) { must(os.Remove(path)) }},
		{"a folder in its place", true, func(path string) { must(os.Remove(path)); must(os.Mkdir(path, 0o700)) }},
	} {
		for when := range 4 { // after that many rows
			path := filepath.Join(t.TempDir(), "t.csv")
			write(path, content, before)
			r, err := Open([]string{path}, dataset.CSV{})
			must(err)
			for range when {
				if _, ok, err := r.Next(); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			test.change(path)
			var last error
			for ok := true; ok; {
				_, ok, last = r.Next()
			}
			want := "table: " + path + ": changed while it was read: leave it as it is and start again"
			if test.changes && (last == nil || last.Error() != want) || !test.changes && last != nil {
				t.Errorf("%s after %d rows: error %v", test.name, when, last)
			}
			if _, ok, again := r.Next(); ok || again != last {
				t.Errorf("%s: then error %v", test.name, again)
			}
			r.Close()
		}
	}
}
