package decimal

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// same fails unless Parse, if it reads s, returns the bits of strconv.ParseFloat.
func same(t interface{ Errorf(string, ...any) }, s string) {
	x, ok := Parse(s)
	want, err := strconv.ParseFloat(s, 64)
	if ok && (err != nil || math.Float64bits(x) != math.Float64bits(want)) {
		t.Errorf("%q: %v, want %v, %v", s, x, want, err)
	}
}

// TestParse tests which numbers Parse reads, and that their bits are those of strconv.ParseFloat.
func TestParse(t *testing.T) {
	for _, s := range []string{"0", "-0", "+1", "1.", ".5", "-.5", "9007199254740992", "9007199254740993", "123456.789",
		"0.00000000000000001", "000000000000000001", "9007199254740992.5", "9007199254740993.000", "1.2345678", "12345678",
		"1234567890123456789", "0.1234567890123456789", "9999999999999999999", "-.9999999999999999999", strings.Repeat("0", 19),
		strings.Repeat("0", 19) + ".9223372036854775807", "0." + strings.Repeat("0", 18) + "1"} {
		if _, ok := Parse(s); !ok {
			t.Errorf("%q is left to others", s)
		}
		same(t, s)
	}
	for _, s := range []string{"", ".", "-", "+.", "1.2.3", "1e5", "1_0", "0x1", "inf", "--1", "1-", "1 ", " 1", "1\x00", "/", ":",
		"12345678/", "1234567:", "\xb1", "1\xb0", "18446744073709551616", "18446744073709551617", strings.Repeat("0", 20),
		"18446744073709551616.5", "1.0123456789012345678", "0." + strings.Repeat("0", 20)} {
		if _, ok := Parse(s); ok {
			t.Errorf("%q is read", s)
		}
	}
}

// TestBits tests the bits of numbers of many forms, and of numbers in the middle between two float64 and beside it.
func TestBits(t *testing.T) {
	piece := rapid.SampledFrom(strings.Split("0 1 2 5 9 . - + 000 999 e5 0000000 99999999 92233", " "))
	rapid.Check(t, func(t *rapid.T) {
		same(t, strings.Join(rapid.SliceOfN(piece, 0, 20).Draw(t, "s"), ""))
		same(t, strconv.FormatFloat(rapid.Float64().Draw(t, "x"), 'f', rapid.IntRange(-1, 12).Draw(t, "digits"), 64))
	})
	r := rand.New(rand.NewPCG(3, 52))
	middles := 0
	for range 200_000 {
		m, behind := r.Uint64()>>r.IntN(64), r.IntN(20)
		if r.IntN(2) == 0 { // an odd number of 54 bits times a power of five: a middle, if the quotient is exact
			m, behind = r.Uint64()>>10|1<<53|1, 0
			for power := uint64(1); m < 1<<64/10 && behind < 4 && r.IntN(5) > 0; behind++ {
				m, power = m*5, power*5
			}
			middles++
			m += uint64(r.IntN(3)) - 1
		}
		if m >= 1e19 {
			continue
		}
		s := strconv.FormatUint(m, 10)
		if behind > 0 {
			s = strings.Repeat("0", max(0, behind-len(s)+r.IntN(2))) + s
			s = s[:len(s)-behind] + "." + s[len(s)-behind:]
		}
		if _, ok := Parse(s); !ok {
			t.Fatalf("%q is left to others", s)
		}
		same(t, s)
	}
	if middles == 0 {
		t.Error("no middle was tried")
	}
}

// TestPrefix tests where a number ends, whatever follows and wherever the text ends.
func TestPrefix(t *testing.T) {
	for _, number := range []string{"0", "-12.5", "1234567.12345678", ".000000001", "123456789012345678.", "12345678"} {
		for _, after := range []string{"", ",", ",1234567890", "\r\n123", "e5", "-", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
			want, err := strconv.ParseFloat(number, 64)
			if err != nil {
				t.Fatal(err)
			}
			for before := range 9 {
				x, end := Prefix(strings.Repeat("7", before)+number+after, before)
				if math.Float64bits(x) != math.Float64bits(want) || end != before+len(number) {
					t.Errorf("%q and %q: %v to %d, want %v to %d", number, after, x, end, want, before+len(number))
				}
			}
		}
	}
	for _, s := range []string{"", "-", ".", "x1", "-x", ".x"} {
		if _, end := Prefix("12"+s, 2); end != 2 {
			t.Errorf("%q: a number that ends at %d", s, end)
		}
	}
}

// FuzzBits tests the bits of the numbers of any text.
func FuzzBits(f *testing.F) {
	for _, s := range []string{"0.8504421136977791", "-12.50", "9007199254740993", "9007199254740992.5", "1e5", "0.1.2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { same(t, s) })
}

var sink float64

func BenchmarkParse(b *testing.B) {
	for name, s := range map[string]string{"four": "0.1234", "sixteen": "0.8504421136977791", "integer": "37", "count": "123456"} {
		for _, of := range []struct {
			name string
			read func(string)
		}{{"this", func(s string) { sink, _ = Parse(s) }}, {"strconv", func(s string) { sink, _ = strconv.ParseFloat(s, 64) }}} {
			b.Run(name+"/"+of.name, func(b *testing.B) {
				s += ",0.1234567"
				s := s[:len(s)-len(",0.1234567")]
				for b.Loop() {
					of.read(s)
				}
			})
		}
	}
}
