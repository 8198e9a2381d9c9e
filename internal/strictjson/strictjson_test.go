package strictjson

import (
	"strings"
	"testing"
)

// TestKeysAreGivenOnce: no object has two keys that are the same, by the rule of Same or as they are, wherever the object is.
// Objects beside each other may have the same key.
func TestKeysAreGivenOnce(t *testing.T) {
	for _, c := range []struct {
		text        string
		plain, fold string // the faults without Same, and with keys that differ in case
	}{
		{`{"a": 1, "b": 2}`, "", ""},
		{`{"a": 1, "a": 1}`, "a: is given twice", "a: is given twice"},
		{`{"a": 1, "A": 2}`, "", "A: is given twice"},
		{`{"Key": 1, "other": 2, "kEY": 3}`, "", "kEY: is given twice"},
		{`{"a": {"x": 1, "X": 2}}`, "", "a.X: is given twice"},
		{`{"a": {"b": 1}, "c": [{"b": 1}, {"B": 2}]}`, "", ""},
		{`[{"a": 1}, {"a": 1, "A": 2}]`, "", "[1].A: is given twice"},
		{`[{"a": 1}, {"x": {"a": 1, "a": 2}}]`, "[1].x.a: is given twice", "[1].x.a: is given twice"},
	} {
		for _, checker := range []struct {
			c    Checker
			want string
		}{{Checker{}, c.plain}, {Checker{Same: strings.ToLower}, c.fold}, {Checker{Same: strings.ToLower, Lenient: true}, c.fold}} {
			got := ""
			if fault := checker.c.Check([]byte(c.text)); fault != nil {
				got = fault.Error()
			}
			if got != checker.want {
				t.Errorf("%s: %q: must be %q", c.text, got, checker.want)
			}
		}
	}
	for text, want := range map[string][2]string{`{"a": null}`: {"a = null: must have a value", ""}, `[1, null]`: {"[1] = null: must have a value", ""}, `1 2`: {"must be one JSON value with nothing after it",
		"must be one JSON value with nothing after it"}, "\"\xff\"": {"must be UTF-8", "must be UTF-8"}} {
		for i, lenient := range []bool{false, true} {
			got := ""
			if fault := (Checker{Lenient: lenient}).Check([]byte(text)); fault != nil {
				got = fault.Error()
			}
			if got != want[i] {
				t.Errorf("%s, lenient %v: %q: must be %q", text, lenient, got, want[i])
			}
		}
	}
}
