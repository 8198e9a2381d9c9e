package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// whole has a field of each kind that Into reads.
type whole struct {
	Text    string          `json:"text"`
	Int     int             `json:"int"`
	Long    int64           `json:"long"`
	Count   uint64          `json:"count"`
	Real    float64         `json:"real"`
	Flag    bool            `json:"flag"`
	List    []float64       `json:"list"`
	Inner   inner           `json:"inner"`
	Inners  []inner         `json:"inners"`
	Pointer *inner          `json:"pointer,omitempty"`
	Raw     json.RawMessage `json:"raw"`
	Own     own             `json:"own"`
	Maybe   float64         `json:"maybe,omitempty"`
	Zero    float64         `json:"zero,omitzero"`
}

type inner struct {
	A int    `json:"a"`
	B string `json:"b,omitempty"`
}

// own decodes itself.
type own struct{ text string }

func (o *own) UnmarshalJSON(text []byte) error {
	if o.text = string(text); o.text == `"bad"` {
		return errOwn
	}
	return nil
}

var errOwn = errors.New("own words")

const good = `{"text": "t", "int": -3, "long": 9007199254740993, "count": 18446744073709551615, "real": 1e-3, "flag": true, ` +
	`"list": [1, 2.5], "inner": {"a": 1}, "inners": [{"a": 2, "b": "x"}, {"a": 0}], "raw": {"z": [null]}, "own": [1]}`

func readInto(text string, into any, needed ...string) error {
	if fault := (Checker{Lenient: true}).Check([]byte(text)); fault != nil {
		return fault
	}
	var err error
	NewObject("", json.RawMessage(text), &err, needed...).Into(into)
	return err
}

// TestInto: each member is read into its field, and one change of a member at a time gives the error that names its path,
// its value and its rule.
func TestInto(t *testing.T) {
	want := whole{"t", -3, 1<<53 + 1, 1<<64 - 1, 1e-3, true, []float64{1, 2.5}, inner{A: 1}, []inner{{2, "x"}, {}}, nil,
		json.RawMessage(`{"z": [null]}`), own{"[1]"}, 0, 0}
	var got whole
	if err := readInto(good, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v, %+v: must be %+v", err, got, want)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"text": "t", `, ``, "text: is missing"},
		{`"int": -3, `, ``, "int: is missing"},
		{`"own": [1]`, `"maybe": 2`, "own: is missing"},
		{`"text": "t"`, `"text": 1`, "text = 1: must be a string"},
		{`"text": "t"`, `"text": null`, "text = null: must be a string"},
		{`-3`, `null`, "int = null: must be an integer"},
		{`-3`, `-3.5`, "int = -3.5: must be an integer"},
		{`-3`, `"3"`, `int = "3": must be an integer`},
		{`9007199254740993`, `9223372036854775808`, "long = 9223372036854775808: must be an integer"},
		{`9007199254740993`, `null`, "long = null: must be an integer"},
		{`18446744073709551615`, `18446744073709551616`, "count = 18446744073709551616: must be an integer >= 0"},
		{`18446744073709551615`, `-1`, "count = -1: must be an integer >= 0"},
		{`18446744073709551615`, `null`, "count = null: must be an integer >= 0"},
		{`1e-3`, `1e999`, "real = 1e999: must be a number in the range of float64"},
		{`1e-3`, `null`, "real = null: must be a number in the range of float64"},
		{`true`, `1`, "flag = 1: must be true or false"},
		{`true`, `null`, "flag = null: must be true or false"},
		{`[1, 2.5]`, `null`, "list = null: must be an array"},
		{`[1, 2.5]`, `{}`, "list = {}: must be an array"},
		{`[1, 2.5]`, `[1, null]`, "list[1] = null: must be a number in the range of float64"},
		{`{"a": 1}`, `null`, "inner = null: must be an object"},
		{`{"a": 1}`, `[1]`, "inner = [1]: must be an object"},
		{`{"a": 1}`, `{}`, "inner.a: is missing"},
		{`{"a": 1}`, `{"a": 1, "c": 2}`, "inner.c: is unknown: the members here are a, b"},
		{`{"a": 1}`, `{"a": 1, "b": ""}`, `inner.b = "": must be absent instead`},
		{`{"a": 0}`, `{"a": "0"}`, `inners[1].a = "0": must be an integer`},
		{`{"a": 0}`, `null`, "inners[1] = null: must be an object"},
		{`"raw"`, `"pointer": null, "raw"`, "pointer = null: must be an object"},
		{`"raw"`, `"pointer": {"a": true}, "raw"`, "pointer.a = true: must be an integer"},
		{`{"z": [null]}`, `[1]`, "raw = [1]: must be an object"},
		{`{"z": [null]}`, `null`, "raw = null: must be an object"},
		{`"own": [1]`, `"own": "bad"`, "own words"},
		{`"flag"`, `"maybe": 0, "flag"`, "maybe = 0: must be absent instead"},
		{`"flag"`, `"maybe": null, "flag"`, "maybe = null: must be a number in the range of float64"},
		{`"flag"`, `"zero": 0, "flag"`, ""},
		{`"flag"`, `"maybe": 1, "flag"`, ""},
		{`"flag"`, `"Flag": true, "flag"`, "Flag: is unknown: the members here are text, int, long, count, real, flag, list, inner, " +
			"inners, pointer, raw, own, maybe, zero"},
	} {
		var into whole
		said := ""
		if err := readInto(strings.Replace(good, c.old, c.new, 1), &into); err != nil {
			said = err.Error()
		}
		if said != c.want {
			t.Errorf("%s in place of %s: %q: must be %q", c.new, c.old, said, c.want)
		}
	}
	for _, text := range []string{`[]`, `1`, `"x"`, `null`} {
		if err := readInto(text, &whole{}); err == nil || err.Error() != text+": must be an object" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestNeeded: keys that are needed must be given in every object that has them, and may be zero there.
func TestNeeded(t *testing.T) {
	type outer struct {
		In   inner   `json:"in"`
		List []inner `json:"list"`
		Ptr  *inner  `json:"ptr,omitempty"`
		B    string  `json:"b,omitempty"`
	}
	for text, want := range map[string]string{
		`{"in": {"a": 1, "b": ""}, "list": [{"a": 1, "b": "x"}], "b": ""}`:                  "",
		`{"in": {"a": 1, "b": ""}, "list": [], "ptr": {"a": 1, "b": ""}, "b": ""}`:          "",
		`{"in": {"a": 1}, "list": [], "b": ""}`:                                             "in.b: is missing",
		`{"in": {"a": 1, "b": ""}, "list": [{"a": 1, "b": "x"}, {"a": 1}], "b": ""}`:        "list[1].b: is missing",
		`{"in": {"a": 1, "b": ""}, "list": [], "b": "", "ptr": {"a": 1}}`:                   "ptr.b: is missing",
		`{"in": {"a": 1, "b": ""}, "list": []}`:                                             "b: is missing",
		`{"in": {"a": 1, "b": "", "c": 0}, "list": [], "b": ""}`:                            "in.c: is unknown: the members here are a, b",
		`{"in": {"a": 1, "b": ""}, "list": [], "b": "", "b2": ""}`:                          "b2: is unknown: the members here are in, list, ptr, b",
		`{"in": {"a": 1, "b": ""}, "list": [{"a": 1, "b": ""}, {"a": 1, "b": 7}], "b": ""}`: "list[1].b = 7: must be a string",
	} {
		said := ""
		if err := readInto(text, &outer{}, "b"); err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("%s: %q: must be %q", text, said, want)
		}
	}
	for _, needed := range []bool{false, true} {
		_, keys, optional := Members(reflect.TypeFor[inner](), map[bool][]string{true: {"b"}}[needed]...)
		if fmt.Sprint(keys) != "[a b]" || (len(optional) == 0) != needed {
			t.Errorf("needed %v: keys %v, optional %v", needed, keys, optional)
		}
	}
}

// TestTheFirstFaultStays: what is read after a fault changes neither the fault nor a variable.
func TestTheFirstFaultStays(t *testing.T) {
	var err error
	o := NewObject("top", json.RawMessage(`{"a": 1, "b": "x"}`), &err)
	if n := 0; !o.Has("a") || o.Has("c") || o.Err() != nil {
		t.Error("a is there, c is not")
	} else if o.Read("a", &n); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	n := 7
	o.Read("b", &n)
	const first = `top.b = "x": must be an integer`
	for what, later := range map[string]func(){
		"a missing member": func() { o.Read("c", &n) },
		"a good member":    func() { o.Read("a", &n) },
		"Fail":             func() { o.Fail("a", "1", "is another fault") },
		"Only":             func() { o.Only([]string{"z"}) },
		"an object":        func() { NewObject("other", json.RawMessage(`[]`), &err) },
	} {
		if later(); n != 7 || err == nil || err.Error() != first || o.Err() != err {
			t.Errorf("after %s: %d, %v: must be %s", what, n, err, first)
		}
	}
	err = nil
	if o.Fail("", "", "is wrong"); err.Error() != "top: is wrong" {
		t.Errorf("%v: must name the object as a whole", err)
	}
	err = nil
	if o.Only([]string{"a", "b", "c"}); err.Error() != "top.c: is missing" {
		t.Error(err)
	}
	err = nil
	if o.Only([]string{"a", "b", "c"}, "c"); err != nil {
		t.Error(err)
	}
}

// TestLengthsOfFaults: a shown field and value have at most 80 bytes each, a key of a path 200, and a path of more than 200
// bytes does not grow.
func TestLengthsOfFaults(t *testing.T) {
	for _, n := range []int{1, 79, 80, 81, 100, 159, 160, 161, 400} {
		text := strings.Repeat("x", n)
		shown := text
		if n > 80 {
			shown = text[:80] + "..."
		}
		for _, c := range []struct {
			fault Fault
			want  string
		}{{Fault{text, "", "is bad"}, shown + ": is bad"}, {Fault{"f", text, "is bad"}, "f = " + shown + ": is bad"},
			{Fault{"", text, "is bad"}, shown + ": is bad"}, {Fault{text, text, text}, shown + " = " + shown + ": " + text},
			{Fault{"", "", text}, text}} {
			if got := c.fault.Error(); got != c.want {
				t.Errorf("%d bytes: %q: must be %q", n, got, c.want)
			}
		}
	}
	if got := (&Fault{"a\nb", "c\x1bd", "is\u202e bad"}).Error(); got != `a\nb = c\x1bd: is\u202e bad` {
		t.Error(got)
	}
	for n, grows := range map[int]bool{1: true, 199: true, 200: true, 201: false, 203: false, 1000: false} {
		path := strings.Repeat("p", n)
		want, item := path, path
		if grows {
			want, item = path+".k", path+"[7]"
		}
		if Join(path, "k") != want || Item(path, 7) != item {
			t.Errorf("a path of %d bytes: %s, %s", n, Join(path, "k"), Item(path, 7))
		}
		key := strings.Repeat("k", n)
		if n > 200 {
			key = key[:200] + "..."
		}
		if Join("", strings.Repeat("k", n)) != key || Join("f", strings.Repeat("k", n)) != "f."+key {
			t.Errorf("a key of %d bytes: %s", n, Join("", strings.Repeat("k", n)))
		}
	}
}

// TestTextsThatAreRefused: a text is one JSON value, and what follows it is refused, whatever it is.
func TestTextsThatAreRefused(t *testing.T) {
	const after, json = "must be one JSON value with nothing after it", "must be JSON: "
	for text, want := range map[string]string{
		"":             json,
		" \n":          json,
		`{"a": 1`:      json,
		`{"a": 1}}`:    after,
		`{"a": 1} {`:   after,
		`{"a": 1},`:    after,
		`1 2`:          after,
		`1 x`:          after,
		"1\x00":        after,
		"{} \n\t\r ":   "",
		`{"a": 1e999}`: "a: must be a number in the range of float64",
		`[1, -1e999]`:  "[1]: must be a number in the range of float64",
		`1e999`:        "must be a number in the range of float64",
		`{"a": "\xff"`: json,
		`{'a': 1}`:     json,
		`{"a": NaN}`:   json,
		`[1,]`:         json,
		`{"a": 01}`:    json,
		"\ufeff{}":     json,
	} {
		said, lenient := "", ""
		if fault := (Checker{}).Check([]byte(text)); fault != nil {
			said = fault.Error()
		}
		if fault := (Checker{Lenient: true}).Check([]byte(text)); fault != nil {
			lenient = fault.Error()
		}
		if want == json && strings.HasPrefix(said, json) && strings.HasPrefix(lenient, json) {
			continue // the rest is a text of package json
		}
		if said != want {
			t.Errorf("%q: %q: must be %q", text, said, want)
		}
		if strings.Contains(want, "range of float64") {
			want = ""
		}
		if lenient != want {
			t.Errorf("%q, lenient: %q: must be %q", text, lenient, want)
		}
	}
}
