package strictyaml

import (
	"errors"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"
)

type file struct {
	Data   string         `yaml:"data"`
	Schema *own           `yaml:"schema"`
	Inner  inner          `yaml:"inner"`
	List   []inner        `yaml:"list"`
	Any    map[string]any `yaml:"any"`
}

type inner struct {
	Count  int       `yaml:"count"`
	Seed   uint64    `yaml:"seed"`
	Share  *float64  `yaml:"share"`
	Exact  bool      `yaml:"exact"`
	Scales []float64 `yaml:"scales"`
}

type own struct{ word string }

func (o *own) UnmarshalYAML(node ast.Node) error {
	s, ok := node.(*ast.StringNode)
	if !ok {
		return errors.New("must be a word of its own")
	}
	o.word = s.Value
	return nil
}

func TestDecode(t *testing.T) {
	var f file
	text := "data: 7 # a comment\nschema: word\ninner: {count: 3, seed: 18446744073709551615, share: 1e-6, exact: true, scales: [1, .5, .inf]}\nlist:\n  - count: -2\nany: {x: [1, {y: z}]}\n"
	if err := Decode([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	if f.Data != "7" || f.Schema.word != "word" || f.Inner.Count != 3 || f.Inner.Seed != 1<<64-1 ||
		*f.Inner.Share != 1e-6 || !f.Inner.Exact || len(f.Inner.Scales) != 3 || f.List[0].Count != -2 || f.Any["x"] == nil {
		t.Errorf("%+v", f)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "is empty"},
		{" \n", "is empty"},
		{"# data\n", "must be YAML with the keys data, schema, inner, list, any: none of them is in it"},
		{"\x1f\x8b\x08data: x", "is gzipped: must be YAML"},
		{"PK\x03\x04data: x", "is a zip archive"},
		{"\xff\xfed\x00a\x00t\x00a\x00:\x00", "is UTF-16 text"},
		{"data: x\x00", "is not text in UTF-8"},
		{"data: \xff", "is not text in UTF-8"},
		{"data: [secret", "is not YAML as it stands here"},
		{"data: x\nsecret", "is not YAML as it stands here"},
		{"data: x\n---\ndata: y", "[3:5] must be one YAML document"},
		{"- data: x", "[1:1] must be a mapping of keys to values"},
		{"data: x\nsecret: 1", "[2:1] unknown key; the keys here are data, schema, inner, list, any"},
		{"data: x\ndata: y", "[2:1] a key is given twice"},
		{"data: [secret]", "[1:7] must be a single value"},
		{"data: {secret: 1}", "must be a single value"},
		{"data: x\n1: secret", "[2:1] a key must be a plain name"},
		{"inner: {count: 2.5}", "[1:16] must be a whole number"},
		{"inner: {count: 99999999999999999999}", "must be a whole number"},
		{"inner: {count: secret}", "must be a whole number"},
		{"inner: {seed: -1}", "must be a whole number >= 0"},
		{"inner: {count: 0x10}", "must be a whole number"},
		{"inner: {seed: 0x10}", "must be a whole number >= 0"},
		{"inner: {seed: 1_000}", "must be a whole number >= 0"},
		{"inner: {share: secret}", "must be a number"},
		{"inner: {exact: secret}", "must be true or false"},
		{"inner: {scales: 1}", "must be a list"},
		{"inner: {scales: [1, secret]}", "[1:21] must be a number"},
		{"inner: secret", "must be a mapping"},
		{"list: [{secret: 1}]", "[1:9] unknown key; the keys here are count, seed, share, exact, scales"},
		{"data: &a secret\n", "anchors, aliases and tags are not taken"},
		{"data: x\ninner: *secret", "anchors, aliases and tags are not taken"},
		{"data: !secret x", "anchors, aliases and tags are not taken"},
		{"inner:\n  <<: {count: 1}", "anchors, aliases and tags are not taken"},
		{"schema: [secret]", "[1:9] must be a word of its own"},
	} {
		var f file
		err := Decode([]byte(test.text), &f)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %s", test.text, err, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: error %v quotes the file", test.text, err)
		}
	}
}

// FuzzDecode tests that no error quotes the file: a word that is in every seed and in no message
// does not appear.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		"data: QUOKKAQUOKKA", "QUOKKAQUOKKA: 1\ndata: x", "data: x\nQUOKKAQUOKKA", "inner: {count: QUOKKAQUOKKA}",
		"any: {x: &QUOKKAQUOKKA y, z: *QUOKKAQUOKKA}",
		"data,QUOKKAQUOKKA\n1,2\n", "data: \"QUOKKAQUOKKA\nx,y", "schema: [QUOKKAQUOKKA]", "list: [QUOKKAQUOKKA, {count: 1}]",
		"data: |\n  QUOKKAQUOKKA\n x",
		"? QUOKKAQUOKKA\n: 1\ndata: x", "any: {? [QUOKKAQUOKKA] : 1}", "%QUOKKAQUOKKA\n---\ndata: x",
		"data: !!binary QUOKKAQUOKKA", "any: {x: !!int QUOKKAQUOKKA}",
		"any: {<<: QUOKKAQUOKKA}", "any: !!timestamp QUOKKAQUOKKA", "inner: {exact: QUOKKAQUOKKA}", "data: @QUOKKAQUOKKA",
		"data: `QUOKKAQUOKKA`",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v file
		err := Decode([]byte(text), &v)
		if err == nil {
			return
		}
		if strings.Contains(err.Error(), "QUOKKA") {
			t.Errorf("%q: error %v quotes the file", text, err)
		}
		if strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("%q: error %q is not one line", text, err)
		}
	})
}

// TestZeroBytesAreNoText tests that a byte 0 is refused wherever it stands, the first place included.
func TestZeroBytesAreNoText(t *testing.T) {
	for _, text := range []string{"\x00a: 1", "a: \x001", "a: 1\x00"} {
		if rule := notText([]byte(text)); rule == "" {
			t.Errorf("%q is taken for a text", text)
		}
	}
	if rule := notText([]byte("a: 1")); rule != "" {
		t.Errorf("a text is refused: %v", rule)
	}
}

// counted is text in Go, and a mapping in the file.
type counted string

func (c *counted) UnmarshalYAML(unmarshal func(any) error) error {
	var in inner
	if err := unmarshal(&in); err != nil {
		return err
	}
	*c = counted(strings.Repeat("I", in.Count))
	return nil
}

func TestFaultsWithinATypeOfItsOwn(t *testing.T) {
	var f struct {
		Counted counted `yaml:"counted"`
	}
	if err := Decode([]byte("counted: {count: 3}"), &f); err != nil || f.Counted != "III" {
		t.Errorf("%q, %v", f.Counted, err)
	}
	for text, want := range map[string]string{
		"counted: {count: secret}": "[1:18] must be a whole number",
		"counted: {secret: 1}":     "[1:11] unknown key; the keys here are count, seed, share, exact, scales",
		"counted:\n  share: [1]\n": "[2:10] must be a single value",
		"counted: [1]":             "[1:10] must be a mapping",
	} {
		if err := Decode([]byte(text), &f); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
