package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestBuckets compares buckets with expected values that were computed from the formula with another
// language's unbounded integers. Models depend on the buckets.
func TestBuckets(t *testing.T) {
	bucket := func(column, cell string, buckets int) int {
		return Column{Name: column}.Hashing().bucket(cell, buckets)
	}
	for _, c := range []struct {
		column, cell  string
		buckets, want int
	}{
		{"town", "Ghent", 7, 5}, {"town", "gent", 7, 5}, {"town", "København", 256, 237}, {"city", "Ghent", 7, 0},
		{"t", "x", 2, 1}, {"town", "\U0010ffff\U0010ffff\U0010ffff", 1048576, 359167},
		{"town", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 999, 376},
	} {
		if got := bucket(c.column, c.cell, c.buckets); got != c.want {
			t.Errorf("bucket(%q, %q, %d) = %d, want %d", c.column, c.cell, c.buckets, got, c.want)
		}
	}
	// 12,000 values in 12 buckets: each count has a standard deviation of 30. No count may deviate
	// by 7 of these.
	counts := make([]int, 12)
	together := 0
	for i := range 12_000 {
		b := bucket("town", fmt.Sprint("value ", i), len(counts))
		counts[b]++
		if b == bucket("city", fmt.Sprint("value ", i), len(counts)) {
			together++
		}
	}
	// 12,000 similar texts of five digits share buckets, out of 2^20, no more often than random
	// values: about 69 pairs.
	seen, pairs := map[int]int{}, 0
	for i := range 12_000 {
		b := bucket("town", fmt.Sprintf("%05d", i), 1<<20)
		pairs += seen[b]
		seen[b]++
	}
	if pairs < 30 || pairs > 120 {
		t.Errorf("%d pairs of like values share a bucket, by chance 69 would", pairs)
	}
	if slices.Min(counts) < 790 || slices.Max(counts) > 1210 || together < 790 || together > 1210 {
		t.Errorf("counts %v, %d in the same bucket of two columns", counts, together)
	}
}

// TestHashedColumn tests that exactly one feature of a hash column is set, and that this is the
// last one for a missing cell, whatever the other cells contain. Norm and names must be formed as
// for a category.
func TestHashedColumn(t *testing.T) {
	s := mustLoad(t,
		"\nschema:\n  columns:\n    age: {number: [0, 10]}\n    town: {hash: 7}\n  target: {column: y, classes: [0, 1]}\n  missing: [\"\", \"?\"]\n")
	if want := "[age town#0 town#1 town#2 town#3 town#4 town#5 town#6 town=other (intercept)]"; fmt.Sprint(s.Features()) != want {
		t.Errorf("features %v, want %v", s.Features(), want)
	}
	m := mustBind(t, s, "town", "age", "y")
	for cell, want := range map[string]int{"Ghent": 5, "  Ghent ": 5, "Oslo": 0, "": 7, " ? ": 7} {
		row := make([]float32, m.Dim())
		if _, ok := m.Encode(row, []string{cell, "10", "1"}); !ok {
			t.Fatalf("%q is not encoded", cell)
		}
		for j, x := range row {
			set := j == 0 || j == 1+want || j == len(row)-1
			if (x != 0) != set || set && x != row[0] {
				t.Errorf("%q: feature %s is %v", cell, s.Features()[j], x)
			}
		}
	}
	w := make([]float64, s.Dim())
	w[5] = 3 * s.Scale()
	if c := s.Explain(w, false)[5]; c.Feature != "town#4" || c.Column != "town" || !(math.Abs(c.Value-3) <= 1e-12) {
		t.Errorf("explained as %+v", c)
	}
}

func TestHashRules(t *testing.T) {
	for text, want := range map[string]string{
		"1":                 "columns.town.hash = 1: must be between 2 and 1048576 buckets",
		"1048577":           "must be between 2 and 1048576 buckets",
		"2.5":               "must be a whole number",
		"many":              "must be a finite number",
		"???":               "into how many buckets",
		"8, category: [a]":  "needs exactly one of",
		"8, transform: log": "only a number has a transform",
	} {
		_, err := load("\nschema:\n  columns:\n    town: {hash: " + text + "}\n  target: {column: y, classes: [0, 1]}\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
