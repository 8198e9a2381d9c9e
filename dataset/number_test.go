package dataset

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDecimal tests that decimal gives the bits of strconv.ParseFloat, and that it accepts numbers
// of common form.
func TestDecimal(t *testing.T) {
	check := func(s string) {
		t.Helper()
		x, ok := decimal(s)
		want, err := strconv.ParseFloat(s, 64)
		if ok && (err != nil || math.Float64bits(x) != math.Float64bits(want)) {
			t.Errorf("%q: %v, want %v, %v", s, x, want, err)
		}
	}
	for _, s := range []string{"0", "-0", "+1", "1.", ".5", "-.5", "9007199254740992", "0.00000000000000001", "123456.789",
		"000000000000000001"} {
		if _, ok := decimal(s); !ok {
			t.Errorf("%q is left to others", s)
		}
		check(s)
	}
	for _, s := range []string{"", ".", "-", "+.", "1.2.3", "1e5", "9007199254740993", "1_0", "0x1", "inf", "--1", "1-",
		"1234567890123456789", "9007199254740992.0", "18446744073709551617", strings.Repeat("0", 19)} {
		if _, ok := decimal(s); ok {
			t.Errorf("%q is read", s)
		}
	}
	piece := rapid.SampledFrom(strings.Split("0 1 2 5 9 . - + 000 999 e5", " "))
	rapid.Check(t, func(t *rapid.T) {
		check(strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "s"), ""))
		check(strconv.FormatFloat(rapid.Float64().Draw(t, "x"), 'f', rapid.IntRange(-1, 12).Draw(t, "digits"), 64))
	})
}
