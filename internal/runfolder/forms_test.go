package runfolder

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/holder"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestFormsOfAnIntent tests which intents are read: those of a known version, of the fit of their name, and with the sum of
// their text, which each field changes.
func TestFormsOfAnIntent(t *testing.T) {
	sound := func() intent {
		return intent{Version: 2, Fit: 3, Store: "sqlite:b.db", Dataset: "people", Run: "r", Place: &holder.Place{Host: "a", Folder: holder.File{Inode: 2}},
			Ledger: linesOf([]byte("line\nhalf"))}
	}
	text := func(i intent) []byte {
		b, err := i.text()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, version := range []int{-1, 0, 1, 2, 3} {
		for fit := range 5 {
			i := sound()
			i.Version = version
			got, err := parseIntent(text(i), fit)
			if want := version >= 1 && version <= 2 && fit == 3; (err == nil) != want || want && got.Run != "r" || !want && !reflect.DeepEqual(got, intent{}) {
				t.Errorf("version %d, for fit %d: %+v, %v", version, fit, got, err)
			}
		}
	}
	for name, change := range map[string]func(*intent){
		"Version": func(i *intent) { i.Version = 1 }, "Fit": func(i *intent) { i.Fit = 4 }, "Store": func(i *intent) { i.Store += "x" },
		"Dataset": func(i *intent) { i.Dataset = "others" }, "Run": func(i *intent) { i.Run = "q" }, "Place": func(i *intent) { i.Place.Lock.Inode = 9 },
		"Ledger": func(i *intent) { i.Ledger.Size++ },
	} {
		first, other := text(sound()), sound()
		change(&other)
		sum := func(b []byte) []byte { _, s, _ := bytes.Cut(b, []byte(`"sum":`)); return s }
		mixed := append(bytes.TrimSuffix(text(other), sum(text(other))), sum(first)...)
		for _, fit := range []int{3, 4} {
			if i, err := parseIntent(mixed, fit); err == nil {
				t.Errorf("another %s with the sum of the first: %+v", name, i)
			}
		}
	}
	for name, b := range map[string][]byte{"no newline": bytes.TrimSuffix(text(sound()), newline), "two": append(text(sound()), text(sound())...),
		"a blank": append([]byte(" "), text(sound())...), "nothing": nil,
		"a member": bytes.Replace(text(sound()), []byte(`"fit"`), []byte(`"x":1,"fit"`), 1)} {
		if _, err := parseIntent(b, 3); err == nil {
			t.Errorf("%s: is an intent", name)
		}
	}
	if n := reflect.TypeFor[intent]().NumField(); n != 7+1 {
		t.Errorf("an intent has %d fields: each must be changed here", n)
	}
}

// TestBeginnings tests that a text begins with its own whole lines, and with no other text, size or sum.
func TestBeginnings(t *testing.T) {
	const text = "one\ntwo\nhalf"
	b := linesOf([]byte(text))
	if b.Size != 8 || b.Sum != sha([]byte("one\ntwo\n")) {
		t.Errorf("%+v", b)
	}
	for more, want := range map[string]bool{text: true, "one\ntwo\n": true, "one\ntwo\nthree\n": true, "one\ntwo": false, "one\n": false, "": false,
		"one\ntwO\n": false, "\none\ntwo\n": false} {
		if b.begins([]byte(more)) != want {
			t.Errorf("%q begins with it: %v", more, !want)
		}
	}
	for _, other := range []*beginning{nil, {-1, b.Sum}, {7, b.Sum}, {9, b.Sum}, {8, ""}, {100, b.Sum}, {8, strings.ToUpper(b.Sum)}} {
		if other.begins([]byte(text)) {
			t.Errorf("begins with %+v", other)
		}
	}
	for _, none := range []string{"", "half"} {
		if b := linesOf([]byte(none)); b.Size != 0 || !b.begins([]byte("anything")) || !b.begins(nil) {
			t.Errorf("no lines: %+v", b)
		}
	}
}

// TestNumbersOfLines writes the number of a line of a journal in other ways, each with the sum that it would need: only the
// shortest decimal is read.
func TestNumbersOfLines(t *testing.T) {
	const rest = `"step":{"number":5}}`
	for digits, want := range map[string]int{"7": 7, "10": 10, "07": 0, "+7": 0, " 7": 0, "7 ": 0, "-0": 0, "7.0": 0, "7e0": 0, "0x7": 0, "": 0} {
		for number := range 11 {
			f := lineFormat{numbered: true, salt: "0123456789abcdef"}
			line := lineOpen + digits + sumOpen + f.lineSum(number, []byte(rest)) + sumClose + rest
			got, r, err := f.read([]byte(line))
			if sound := want > 0 && number == want; (err == nil) != sound || sound && (got != want || r.Step == nil || r.Step.Number != 5) {
				t.Errorf("%s with the sum of line %d: %d, %v", line, number, got, err)
			}
		}
	}
	f := lineFormat{numbered: true, salt: "0123456789abcdef"}
	sum := f.lineSum(7, []byte(rest))
	for _, line := range []string{lineOpen + "7" + sumOpen + strings.ToUpper(sum) + sumClose + rest, lineOpen + "7" + sumOpen + sum[1:] + sumClose + rest,
		lineOpen + "7" + sumOpen + sum + `" ,` + rest, lineOpen + "7" + sumOpen + sum, `{ "line":7` + sumOpen + sum + sumClose + rest, rest} {
		if _, _, err := f.read([]byte(line)); err == nil {
			t.Errorf("%s: is a line", line)
		}
	}
	if _, _, err := (&lineFormat{numbered: true, salt: "0123456789abcdee"}).read([]byte(lineOpen + "7" + sumOpen + sum + sumClose + rest)); err == nil {
		t.Error("a line of another journal is a line of this one")
	}
}

// TestOrderOfRecords tests which records follow which in a journal: an iterate has the number of a later step and a finite
// weight for each parameter, and a run begins before its first step.
func TestOrderOfRecords(t *testing.T) {
	norm := 2.
	step := func(number int, w ...float64) record { return record{Step: &reached{Number: number, W: w}} }
	normed := record{Step: &reached{Number: 1, Norm: &norm}}
	begun := record{Line: train.Line{Begun: &train.Begun{}}}
	ready := record{Ready: &ready{}}
	head := record{Head: &train.Header{Journal: train.JournalVersion}}
	for name, c := range map[string]struct {
		list []record
		last bool // whether the last one follows
	}{
		"a step":                    {[]record{step(4, 1, 2)}, true},
		"the next step":             {[]record{step(4, 1, 2), step(5, 3, 4)}, true},
		"the same step":             {[]record{step(4, 1, 2), step(4, 3, 4)}, false},
		"an earlier step":           {[]record{step(4, 1, 2), step(3, 3, 4)}, false},
		"step 0":                    {[]record{step(0, 1, 2)}, false},
		"too few weights":           {[]record{step(4, 1)}, false},
		"too many weights":          {[]record{step(4, 1, 2, 3)}, false},
		"a norm":                    {[]record{normed}, true},
		"a norm of an earlier step": {[]record{step(4, 1, 2), normed}, true},
		"a beginning":               {[]record{begun}, true},
		"two beginnings":            {[]record{begun, begun}, false},
		"a beginning after a step":  {[]record{step(4, 1, 2), begun}, false},
		"a beginning after a norm":  {[]record{normed, begun}, false},
		"a step after a beginning":  {[]record{begun, step(4, 1, 2)}, true},
		"another head":              {[]record{head}, false},
		"nothing":                   {[]record{{}}, false},
		"two things":                {[]record{{Step: &reached{Number: 1, W: []float64{1, 2}}, Ready: ready.Ready}}, false},
		"the end":                   {[]record{ready}, true},
	} {
		j := &journalContent{head: &train.Header{Family: &runrecord.Family{}}, parameters: 2, form: lineFormat{numbered: true}}
		for i, r := range c.list {
			before := fmt.Sprintf("%d %v %v %v", j.step, j.weights, j.norms, j.base)
			err := j.take(r)
			if last := i == len(c.list)-1; (err == nil) != (!last || c.last) {
				t.Errorf("%s: record %d: %v", name, i, err)
			} else if err != nil && fmt.Sprintf("%d %v %v %v", j.step, j.weights, j.norms, j.base) != before {
				t.Errorf("%s: a record that does not follow is taken", name)
			}
		}
	}
	j := &journalContent{head: &train.Header{}, parameters: 2}
	for range train.MostNorms + 3 {
		if err := j.take(normed); err != nil {
			t.Fatal(err)
		}
	}
	if len(j.norms) != 20_000 {
		t.Errorf("%d norms are kept: must be 20000", len(j.norms))
	}
}
