package experiment

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTheFileIsDocumented tests that the example in docs/how-to/algorithms.md is a valid
// specification, also with its commented lines, and names every key of the format.
func TestTheFileIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/algorithms.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatal("docs/how-to/algorithms.md shows no specification")
	}
	shown := string(m[1])
	whole := regexp.MustCompile(`(?m)^# (\w+:)`).ReplaceAllString(shown, "$1")
	for _, s := range []string{shown, whole} {
		if _, err := ParseSpec([]byte(s)); err != nil {
			t.Errorf("%v:\n%s", err, s)
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[Spec](), reflect.TypeFor[Algorithm](), reflect.TypeFor[Scale]()} {
		for i := range of.NumField() {
			if key := of.Field(i).Tag.Get("yaml"); !strings.Contains(shown, key+":") {
				t.Errorf("docs/how-to/algorithms.md says nothing of %s, a key of %s", key, of.Name())
			}
		}
	}
}

// TestPagesStateEveryRun tests that the pages of results state for each specification that their commands run how many
// runs it has, tuning included.
func TestPagesStateEveryRun(t *testing.T) {
	pages, err := filepath.Glob("../results/*.md")
	if err != nil {
		t.Fatal(err)
	}
	stated := 0
	command := regexp.MustCompile(`(?m)experiment run lab/results/specs/([\w-]+\.yaml) --out \S+ *#? *(.*)$`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(text), -1) {
			s, err := ReadSpec(filepath.Join("../results/specs", m[1]))
			if err != nil {
				t.Fatal(err)
			}
			cells, err := s.cells(own{})
			if err != nil {
				t.Fatal(err)
			}
			total := 0
			for _, c := range cells {
				total += len(c.tuning(s.TuningSeeds)) + s.Seeds
			}
			if n := strconv.Itoa(total) + " runs"; !strings.HasPrefix(m[2], n) {
				t.Errorf("%s: %s has %s: the comment says %q", filepath.Base(page), m[1], n, m[2])
			}
			stated++
		}
	}
	if stated < 20 {
		t.Errorf("%d commands found: want 20 at least", stated)
	}
}
