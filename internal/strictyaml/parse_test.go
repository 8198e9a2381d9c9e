package strictyaml

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// entries are values of every form that a mapping may hold, indented by two spaces.
var entries = []string{
	" 1", " word # and a comment", " \"two\n    lines\"", " |\n    a: b\n    c: d", " >-\n    folded\n    text",
	" {x: 1, y: [1, 2]}", " {x: 1,\n    y: 2}", " [a,\n    b]", "\n    f: 1\n    g: {h: 2}", "\n  - a\n  - b: 1\n    c: 2",
	"\n    - 1\n    - - 2\n      - 3", "",
}

// document returns a text with mappings of n entries: at the top, in one of its entries and in an
// item of a list, each with comments between entries.
func document(n int, r *rand.Rand) string {
	var b strings.Builder
	entry := func(indent string, k int) {
		if r.IntN(7) == 0 {
			fmt.Fprintf(&b, "%s# a comment\n\n", indent)
		}
		key := fmt.Sprintf("k%d", k)
		if r.IntN(9) == 0 {
			key = fmt.Sprintf("%q", key+" too")
		}
		value := strings.ReplaceAll(entries[r.IntN(len(entries))], "\n", "\n"+indent)
		fmt.Fprintf(&b, "%s%s:%s\n", indent, key, value)
	}
	fmt.Fprintf(&b, "data: x\nany:\n")
	for k := range n {
		if k == n/2 {
			b.WriteString("  deep:\n")
			for j := range n {
				entry("    ", j)
			}
			b.WriteString("  items:\n  - first: 1\n")
			for j := range n {
				entry("    ", j)
			}
		}
		entry("  ", k)
	}
	b.WriteString("inner: {count: 3}\n")
	return b.String()
}

// TestPortionsAreTheWhole tests that a text with long mappings parses to the same result in
// portions and as a whole, for numbers of entries around the size of a portion. The test fails if an
// entry is lost, repeated or put into another mapping.
func TestPortionsAreTheWhole(t *testing.T) {
	for _, n := range []int{1, portion - 1, portion, portion + 1, 2 * portion, 3*portion + 5} {
		for seed := range uint64(5) {
			text := document(n, rand.New(rand.NewPCG(seed, uint64(n))))
			var got, want file
			if err := Decode([]byte(text), &got); err != nil {
				t.Fatalf("%d entries, seed %d: %v", n, seed, err)
			}
			if err := yaml.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) || len(got.Any) != n+2 || got.Inner.Count != 3 {
				t.Fatalf("%d entries, seed %d: %d keys: differs from the text parsed as a whole", n, seed, len(got.Any))
			}
		}
	}
}

// TestSecondDocumentAfterPortions tests that a document after a long mapping is not added to it.
func TestSecondDocumentAfterPortions(t *testing.T) {
	var b strings.Builder
	b.WriteString("data: x\nany:\n")
	for k := range 3 * portion {
		fmt.Fprintf(&b, "  k%d: 1\n", k)
	}
	var f file
	if err := Decode([]byte(b.String()+"  last:\n---\n  k: 2\n"), &f); err == nil ||
		!strings.Contains(err.Error(), "one YAML document") {
		t.Errorf("a second document: %v", err)
	}
}

// TestPlacesInPortions tests that an error beyond the first portion names its line.
func TestPlacesInPortions(t *testing.T) {
	for _, fault := range []string{"k2: 2", "broken: [1", "k: v: w"} {
		var b strings.Builder
		b.WriteString("any:\n")
		for k := range 5 * portion {
			fmt.Fprintf(&b, "  k%d: 1\n", k)
		}
		b.WriteString("  " + fault + "\n")
		var f file
		err := Decode([]byte(b.String()), &f)
		if want := fmt.Sprintf("[%d:", 5*portion+2); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v: want one at %s", fault, err, want)
		}
	}
}

// TestMemoryGrowsWithTheText tests that allocation grows in proportion to the number of entries:
// eight times as many entries allocate at most ten times as much. Quadratic growth would be 64
// times.
func TestMemoryGrowsWithTheText(t *testing.T) {
	shapes := map[string]func(b *strings.Builder, n int){
		"a mapping": func(b *strings.Builder, n int) {
			b.WriteString("any:\n")
			for k := range n {
				fmt.Fprintf(b, "  k%d: {x: [0, 1]}\n", k)
			}
		},
		"a list of values": func(b *strings.Builder, n int) {
			b.WriteString("any:\n  values: [0")
			for k := range n {
				fmt.Fprintf(b, ", v%d", k)
			}
			b.WriteString("]\n")
		},
		"a list of lines": func(b *strings.Builder, n int) {
			b.WriteString("list:\n")
			for k := range n {
				fmt.Fprintf(b, "  - {count: %d}\n", k)
			}
		},
		"a mapping in braces": func(b *strings.Builder, n int) {
			b.WriteString("any: {k: 0")
			for k := range n {
				fmt.Fprintf(b, ", k%d: %d", k, k)
			}
			b.WriteString("}\n")
		},
	}
	for name, write := range shapes {
		took := func(n int) float64 {
			var b strings.Builder
			write(&b, n)
			text := []byte(b.String())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var f file
			if err := Decode(text, &f); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		took(100)
		if less, more := took(2000), took(16_000); more > 10*less {
			t.Errorf("%s: 16,000 take %.1f times the memory of 2,000: want about 8", name, more/less)
		}
	}
}
