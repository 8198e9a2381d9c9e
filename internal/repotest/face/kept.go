package face

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
)

// File is the kept file, relative to the module's root.
const File = "internal/repotest/testdata/face.txt"

// Kept returns the text of the kept file: the change note of the latest change, a digest of the listing and the
// listing. The note must stand in CHANGELOG.md.
func (f Face) Kept(note string) []byte {
	listing := f.text()
	return fmt.Appendf(nil, "note: %s\ndigest: %x\n%s", note, sha256.Sum256([]byte(listing)), listing)
}

// Check returns an error unless kept is the text that Kept returns for f and the note that it contains, and unless
// that note stands in the changelog.
func (f Face) Check(kept, changelog []byte) error {
	first, _, _ := bytes.Cut(kept, []byte("\n"))
	note, ok := strings.CutPrefix(string(first), "note: ")
	switch {
	case !ok || strings.TrimSpace(note) == "":
		return fmt.Errorf("the kept face has no note in its first line")
	case !strings.Contains(unwrapped(string(changelog)), note):
		return fmt.Errorf("CHANGELOG.md does not have the note of the kept face: %q", note)
	case !bytes.Equal(f.Kept(note), kept):
		return fmt.Errorf("the public face differs from the kept one: write a note for CHANGELOG.md and "+
			"go run ./tools/face -note 'THE NOTE'\n%s", difference(kept, f.Kept(note)))
	}
	return nil
}

// unwrapped returns a text with each run of white space as one space.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }

// difference lists the lines that only one of two texts has.
func difference(kept, now []byte) string {
	count := map[string]int{}
	for line := range strings.Lines(string(kept)) {
		count[line]--
	}
	for line := range strings.Lines(string(now)) {
		count[line]++
	}
	var out strings.Builder
	for _, text := range [][]byte{kept, now} {
		for line := range strings.Lines(string(text)) {
			switch n := count[line]; {
			case n < 0:
				out.WriteString("- " + line)
			case n > 0:
				out.WriteString("+ " + line)
			}
			count[line] = 0
		}
	}
	return out.String()
}
