package strictyaml

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestEveryKindOfScalar writes each form of a value into a field of each type: an error gives the place and the rule, and any
// other value arrives.
func TestEveryKindOfScalar(t *testing.T) {
	type fields struct {
		Text  string  `yaml:"text"`
		Int   int     `yaml:"int"`
		Long  int64   `yaml:"long"`
		Count uint64  `yaml:"count"`
		Real  float64 `yaml:"real"`
		Flag  bool    `yaml:"flag"`
		Own   *int64  `yaml:"own"`
	}
	const whole, natural, number, truth = "must be a whole number", "must be a whole number >= 0", "must be a number", "must be true or false"
	for _, c := range []struct{ value, int, count, real, flag string }{
		{"0", "0", "0", "0", truth}, {"7", "7", "7", "7", truth}, {"-7", "-7", natural, "-7", truth}, {"7.0", whole, natural, "7", truth}, {"7.5", whole, natural, "7.5", truth},
		{"1e3", whole, natural, "1000", truth}, {".5", whole, natural, "0.5", truth}, {"true", whole, natural, number, "true"}, {"false", whole, natural, number, "false"},
		{"yes", whole, natural, number, truth}, {"True", whole, natural, number, "true"}, {"seven", whole, natural, number, truth}, {`""`, whole, natural, number, truth},
		{"9223372036854775807", "9223372036854775807", "9223372036854775807", "9.223372036854775807e18", truth},
		{"9223372036854775808", whole, "9223372036854775808", "9.223372036854775808e18", truth}, {"18446744073709551616", whole, natural, "1.8446744073709551616e19", truth},
		{"-9223372036854775808", "-9223372036854775808", natural, "-9.223372036854775808e18", truth}, {"[7]", "must be a single value", "must be a single value",
			"must be a single value", "must be a single value"}, {"{a: 7}", "must be a single value", "must be a single value", "must be a single value", "must be a single value"},
	} {
		for key, want := range map[string]string{"int": c.int, "long": c.int, "own": c.int, "count": c.count, "real": c.real, "flag": c.flag} {
			var f fields
			err := Decode([]byte("text: x\n"+key+": "+c.value+"\n"), &f)
			if strings.HasPrefix(want, "must ") {
				place := fmt.Sprintf("[2:%d] ", len(key)+3)
				if err == nil || !strings.HasPrefix(err.Error(), place) || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("%s: %s: %v: must be %s%s", key, c.value, err, place, want)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %s: %v: must be %s", key, c.value, err, want)
				continue
			}
			v := reflect.ValueOf(f).FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, key) })
			if v.Kind() == reflect.Pointer {
				v = v.Elem()
			}
			got := fmt.Sprint(v.Interface())
			if key == "real" {
				var x float64
				fmt.Sscan(want, &x)
				want = fmt.Sprint(x)
			}
			if got != want {
				t.Errorf("%s: %s: %s: must be %s", key, c.value, got, want)
			}
		}
	}
}

// TestFormsOfOtherFiles tests the first bytes of files of other kinds, and that a file of which a few bytes alone are such is
// read as text.
func TestFormsOfOtherFiles(t *testing.T) {
	for start, want := range map[string]string{"\x1f\x8b": "is gzipped", "\x1f": "", "PK\x03\x04": "is a zip archive or a spreadsheet", "PK\x03": "", "PAR1": "is a Parquet file", "PAR": "",
		"\xff\xfe": "is UTF-16 text", "\xfe\xff": "is UTF-16 text", "\xff": "is not text in UTF-8", "\xfe": "is not text in UTF-8", "a\x00": "is not text in UTF-8",
		"a\xc3": "is not text in UTF-8", "aPAR1": "", "": ""} {
		if got := notText([]byte(start)); got != want {
			t.Errorf("%q: %q: must be %q", start, got, want)
		}
		if got := notText([]byte(start + "data: x")); got != want && want != "" {
			t.Errorf("%q, and more: %q: must be %q", start, got, want)
		}
	}
}

// TestLargestFiles tests a file at both sides of the limits of bytes and of parts.
func TestLargestFiles(t *testing.T) {
	for bytes, sound := range map[int]bool{4<<20 - 1: true, 4 << 20: true, 4<<20 + 1: false} {
		if err := shallow([]byte("a: 1" + strings.Repeat("\n", bytes-4))); (err == nil) != sound {
			t.Errorf("%d bytes: %v", bytes, err)
		}
	}
	// a, the colon, two brackets, and then a number and a comma at a time
	for pairs, sound := range map[int]bool{(500_000 - 4) / 2: true, (500_000-4)/2 + 1: false} {
		if err := shallow([]byte("a: [" + strings.Repeat("1,", pairs) + "]")); (err == nil) != sound {
			t.Errorf("%d parts: %v", 4+2*pairs, err)
		}
	}
}
