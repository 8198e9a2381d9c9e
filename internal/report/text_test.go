package report

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		x    float64
		want string
	}{
		{0, "0"}, {1, "1"}, {-1, "−1"}, {.5, "0.5"}, {32561, "32,561"}, {1000, "1000"}, {10000, "10,000"},
		{123456789012, "123,456,789,012"},
		{.0035217, "0.00352"}, {.00012345, "0.000123"}, {.000012345, "1.23×10⁻⁵"}, {-4.1e-7, "−4.1×10⁻⁷"}, {1234.56, "1230"},
		{99999.5, "100,000"},
		{.9996, "1"}, {1.5e12 + .5, "1.5×10¹²"}, {1e300, "1×10³⁰⁰"}, {math.Inf(1), "infinite"}, {math.Inf(-1), "−infinite"},
		{math.NaN(), "not a number"},
	} {
		if got := Number(c.x); got != c.want {
			t.Errorf("Number(%v) = %q: want %q", c.x, got, c.want)
		}
	}
	for x, want := range map[float64]string{1: "1", 1e-6: "10⁻⁶", 2.5e-7: "2.5×10⁻⁷", .1: "0.1", 99999: "99,999",
		-3.25: "−3.25"} {
		if got := exact(x); got != want {
			t.Errorf("exact(%v) = %q: want %q", x, got, want)
		}
	}
}

// value parses a number in the form in which the function Number writes it.
func value(t *testing.T, s string) float64 {
	t.Helper()
	s = strings.NewReplacer(",", "", "−", "-").Replace(s)
	if m, power, has := strings.Cut(s, "×10"); has {
		back := strings.NewReplacer("⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7",
			"⁸", "8", "⁹", "9")
		s = m + "e" + back.Replace(power)
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestNumbersAreNear tests the functions that write numbers for readers. Number must be within half
// a unit of the third digit of its argument. Above must not be below its argument, and must be
// within one unit of its last digit.
func TestNumbersAreNear(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		x := math.Pow(10, 30*r.Float64()-15) * (1 - 2*float64(r.IntN(2)))
		unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-2)
		if got := value(t, Number(x)); !(math.Abs(got-x) <= .5001*unit) {
			t.Fatalf("Number(%v) = %v", x, Number(x))
		}
		if got := value(t, Above(x, 3)); got < x || got-x > 1.0001*unit {
			t.Fatalf("Above(%v, 3) = %v", x, Above(x, 3))
		}
	}
}

// TestPercent tests that a percentage that is rounded up (above is true) never states less than the
// share.
func TestPercent(t *testing.T) {
	for i := range 10001 {
		x := float64(i) / 10000 * .99999
		got, err := strconv.ParseFloat(strings.TrimSuffix(percent(x, true), " %"), 64)
		if err != nil || got/100 < x-1e-10 || got/100 > x+.0011 {
			t.Fatalf("percent(%v) = %v", x, percent(x, true))
		}
	}
	if got := percent(1, true); got != "100 %" {
		t.Error(got)
	}
}

func TestShorten(t *testing.T) {
	for _, s := range hostile {
		s = oneLine(s)
		for _, width := range []float64{1, 5, 15} {
			if got := shorten(s, width); wide(got) > max(width, wide("…")) || wide(s) <= width && got != s {
				t.Errorf("shorten(%.20q, %v) = %q", s, width, got)
			}
		}
	}
}
