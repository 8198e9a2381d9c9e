package runfolder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/model"
)

// killed runs a fit of an algorithm on a disk in memory. It returns the disk that a kill
// directly after a step leaves, and the text of the fit's journal.
func killed(t *testing.T, algorithm string, settings string, step int) (d *durabletest.Disk, journal string) {
	t.Helper()
	s := newScene(t, algorithm)
	if settings != "" {
		write(t, s.config(), peopleYAML+"train: {algorithm: "+algorithm+settings+"}\n")
	}
	d = durabletest.New()
	_, marks, err := s.fitOn(t, context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	d = d.Crash(marks[step-1], durabletest.Kept{})
	journal, ok := d.Text("out/journal-1.jsonl")
	if !ok {
		t.Fatal("no journal")
	}
	return d, journal
}

// TestJournalHoldsWhatWasReleased: after the first step a journal has the step's events, norm
// and iterate, and nothing else. Recover makes the model from the iterate, and an incomplete
// certificate from the events and norms.
func TestJournalHoldsWhatWasReleased(t *testing.T) {
	for _, algorithm := range train.Algorithms() {
		d, journal := killed(t, algorithm, "", 1)
		told, err := readJournal(strings.NewReader(journal), mostLine)
		if err != nil || told.size != int64(len(strings.TrimRight(journal, "\x00"))) || len(told.events) == 0 ||
			told.step != 1 || told.ready != nil {
			t.Fatalf("%s: %+v, %v", algorithm, told, err)
		}
		for line := range strings.Lines(strings.TrimRight(journal, "\x00")) {
			var members map[string]json.RawMessage
			if err := json.Unmarshal([]byte(line), &members); err != nil || len(members) != 3 {
				t.Fatalf("%s: line %s", algorithm, line)
			}
		}
		r, err := recoverIn(context.Background(), d, diskOut, RecoverOptions{})
		if err != nil {
			t.Fatalf("%s: %v", algorithm, err)
		}
		s := diskState(d)
		c, err := certificate.Parse(s.certificate)
		if err != nil {
			t.Fatal(err)
		}
		report, err := c.Verify(t.Context())
		if err != nil || report.Complete || report.Events != len(told.events) || report.Charged != r.Charged || r.Step != 1 ||
			r.Complete {
			t.Errorf("%s: %+v, %v, recovered %+v", algorithm, report, err, r)
		}
		if claim := c.Claim(); claim.Epsilon != 1 || claim.Delta != 1e-6 {
			t.Errorf("%s: claims %+v: must be the whole budget", algorithm, claim)
		}
		var plan struct {
			Recovered struct{ Note string }
			Norms     []float64 `json:"gradient_norms"`
		}
		if err := json.Unmarshal(c.Algorithm().Plan, &plan); err != nil ||
			!strings.Contains(plan.Recovered.Note, "may be missing") || len(plan.Norms) > 1 {
			t.Errorf("%s: plan %+v, %v", algorithm, plan, err)
		}
		m, err := model.Parse(s.model)
		if err != nil || m.Complete() {
			t.Fatalf("%s: %v", algorithm, err)
		}
		for j, w := range m.Weights() {
			if w != told.weights[j] {
				t.Errorf("%s: weight %d is %v, the iterate's %v", algorithm, j, w, told.weights[j])
			}
		}
	}
}

// TestJournaledBeforeTheAnswer: the events of a query are in the journal before the query's
// answer is returned.
func TestJournaledBeforeTheAnswer(t *testing.T) {
	s := newScene(t, "gd")
	c, o, err := s.begin(func() {})
	if err != nil {
		t.Fatal(err)
	}
	d := durabletest.New()
	o.Out, o.disk = diskOut, d
	steps := 0
	o.Step = func(s train.Step) {
		steps++
		journal, _ := d.Text("out/journal-1.jsonl")
		if got := strings.Count(journal, `"event":`); got != s.Number+2 { // two are of the base rate
			t.Errorf("step %d: %d events in the journal", s.Number, got)
		}
	}
	if _, err := fit(context.Background(), c, o); err != nil || steps == 0 {
		t.Fatal(steps, err)
	}
}

// TestJournalAfterATornLine: if writing a line fails in the middle, the lines before it stay
// whole. The next line, whether longer or shorter, is written in its place.
func TestJournalAfterATornLine(t *testing.T) {
	for _, w := range [][]float64{{3}, {3, 4, 5, 6, 7, 8, 9, 10, 11, 12}} {
		d := durabletest.New()
		f := &folder{disk: d, path: ".", fit: 1}
		j, err := f.newJournal(train.Header{Guarantee: account.Guarantee{Relation: 1}})
		if err != nil {
			t.Fatal(err)
		}
		lines := func() string {
			text, _ := d.Text("journal-1.jsonl")
			return strings.TrimRight(text, "\x00")
		}
		before := lines()
		d.Fail = func(o durabletest.Op) error { return errFull }
		for _, long := range []int{80, 60} {
			if err := j.step(train.Step{Number: 1, Of: 9, W: make([]float64, long)}); !errors.Is(err, errFull) {
				t.Fatal(err)
			}
		}
		if len(lines()) <= len(before) {
			t.Fatal("nothing was torn: the test shows nothing")
		}
		d.Fail = nil
		if err := j.step(train.Step{Number: 2, Of: 9, W: w}); err != nil {
			t.Fatal(err)
		}
		want, err := j.form.write(2, record{Step: &reached{Number: 2, Norm: new(float64), W: w}})
		if rest, ok := strings.CutPrefix(lines(), before); err != nil || !ok || rest != string(want) {
			t.Errorf("journal\n%s", lines())
		}
	}
}

// TestTheLastLineHasRoom: after each line the journal has as much reserved space as its last line takes, at every length of the
// file. When the disk is full, the last line is therefore written, without more space.
func TestTheLastLineHasRoom(t *testing.T) {
	d := durabletest.New()
	f := &folder{disk: d, path: ".", fit: 1}
	j, err := f.newJournal(train.Header{Guarantee: account.Guarantee{Relation: 1}})
	if err != nil {
		t.Fatal(err)
	}
	length := func() int64 {
		text, _ := d.Text("journal-1.jsonl")
		return int64(len(text))
	}
	event, err := account.GaussianEvent("gradient", account.Everyone, 1, 30)
	if err != nil {
		t.Fatal(err)
	}
	least, grown := int64(math.MaxInt64), map[int64]bool{}
	for j.size < 4*roomStep {
		event.Index = j.events
		if err := j.note([]account.Event{event}); err != nil {
			t.Fatal(err)
		}
		least = min(least, length()-j.size)
		grown[length()] = true
	}
	if least < roomLeft || len(grown) < 3 {
		t.Errorf("%d bytes are left for the last line, at %d lengths: must be %d", least, len(grown), roomLeft)
	}
	last := ready{Model: strings.Repeat("f", 64), Certificate: strings.Repeat("f", 64), Charged: -math.MaxFloat64, Complete: true}
	before := length()
	if err := j.ready(last); err != nil || length() != before || before-j.size < 0 {
		t.Errorf("the last line: %v, and the file grew from %d to %d bytes", err, before, length())
	}
	if line, err := j.form.write(math.MaxInt, record{Ready: &last}); err != nil || len(line) > roomLeft {
		t.Errorf("%v: a last line may take %d bytes", err, len(line))
	}
}

// TestCheckpoints: at every step, the last iterate in the journal is at most a 64th of the
// steps old, and at most a second or a hundredth of the running time. A fast run of 3000 steps
// writes at most 400 iterates.
func TestCheckpoints(t *testing.T) {
	for _, pace := range []time.Duration{time.Microsecond, 10 * time.Millisecond, 3 * time.Second} {
		d := durabletest.New()
		f := &folder{disk: d, path: ".", fit: 1}
		j, err := f.newJournal(train.Header{Guarantee: account.Guarantee{Relation: 1}})
		if err != nil {
			t.Fatal(err)
		}
		now := j.began
		j.now = func() time.Time { return now }
		kept := 0
		for step := 1; step <= 3000; step++ {
			now = now.Add(pace)
			last := j.checkpoint
			if err := j.step(train.Step{Number: step, Of: 3000, W: []float64{1, 1}}); err != nil {
				t.Fatal(err)
			}
			if j.checkpoint != last {
				kept++
			}
			if old := step - j.checkpoint; old > 2+step/64 ||
				pace*time.Duration(old-1) > max(syncEvery, now.Sub(j.began)/100)+2*pace {
				t.Fatalf("pace %v: at step %d the last iterate is of step %d", pace, step, j.checkpoint)
			}
		}
		if pace == time.Microsecond && kept > 400 {
			t.Errorf("%d iterates kept of 3000 steps in 3 ms", kept)
		}
	}
}

// TestIteratesAreDueByHand tests at which step and time the next iterate is written: 1 + 6400/64 = 101 steps after
// iterate 6400, or a second after it, or a hundredth of the run's time if that is longer.
func TestIteratesAreDueByHand(t *testing.T) {
	began := time.Unix(1e9, 0)
	for _, c := range []struct {
		step       int
		run, since time.Duration
		want       bool
	}{
		{6500, time.Second, 0, false}, {6501, time.Second, 0, true},
		{6401, 20 * time.Second, 999 * time.Millisecond, false}, {6401, 20 * time.Second, time.Second, true},
		{6401, 1000 * time.Second, 9999 * time.Millisecond, false}, {6401, 1000 * time.Second, 10 * time.Second, true},
	} {
		now := began.Add(c.run)
		j := &journal{began: began, checked: now.Add(-c.since), checkpoint: 6400, now: func() time.Time { return now }}
		if got := j.due(c.step); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestNoIterateThatIsNone: a step whose numbers are not finite writes no line, since neither
// journals nor models hold such numbers.
func TestNoIterateThatIsNone(t *testing.T) {
	d := durabletest.New()
	f := &folder{disk: d, path: ".", fit: 1}
	j, err := f.newJournal(train.Header{Guarantee: account.Guarantee{Relation: 1}})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := d.Text("journal-1.jsonl")
	for _, w := range [][]float64{{math.NaN(), 1}, {math.Inf(-1), 1}, {math.MaxFloat64, math.MaxFloat64}} {
		if err := j.step(train.Step{Number: 1, Of: 9, GradientNorm: math.Inf(1), W: w}); err != nil {
			t.Fatal(err)
		}
	}
	if after, _ := d.Text("journal-1.jsonl"); after != before {
		t.Errorf("journal\n%s", after)
	}
}

// TestDamagedJournal: readJournal ignores the lines from a damaged one on, in journals of both
// versions. It returns an error if the first line is damaged.
func TestDamagedJournal(t *testing.T) {
	_, text := killed(t, "gd", "", 3)
	text = strings.TrimRight(text, "\x00")
	for _, text := range []string{text, versioned(t, text)} {
		damagedJournal(t, text)
	}
}

func damagedJournal(t *testing.T, text string) {
	t.Helper()
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	whole, err := readJournal(strings.NewReader(text), mostLine)
	if err != nil || len(whole.events) != 5 { // of three steps, and two of the base rate
		t.Fatal(whole, err)
	}
	for i := range lines {
		for name, damage := range map[string]string{
			"gone": "", "zeros": strings.Repeat("\x00", len(lines[i])-1) + "\n", "empty": "\n", "null": "null\n", "none": "{}\n",
			"twice": lines[i] + "\n" + lines[i], "cut": lines[i][:len(lines[i])/2] + "\n", "unknown": `{"value":1}` + "\n",
			"two": `{"measured":{},"ready":{"certificate":""}}` + "\n", "more": strings.TrimSuffix(lines[i], "\n") + "{}\n",
			"wide": `{"step":{"number":99,"w":[1,2,3,4,5,6,7,8,9]}}` + "\n",
		} {
			damaged := strings.Join(lines[:i], "") + damage + "\n" + strings.Join(lines[i+1:], "")
			got, err := readJournal(strings.NewReader(damaged), mostLine)
			if i == 0 && name != "twice" && (name != "more" || whole.form.numbered) {
				if err == nil {
					t.Errorf("line 1 %s: read", name)
				}
				continue
			}
			if err != nil {
				if i > 0 {
					t.Errorf("line %d %s: %v", i+1, name, err)
				}
				continue
			}
			if got.size > int64(len(strings.Join(lines[:i+1], ""))+1) || len(got.events) > len(whole.events) {
				t.Errorf("line %d %s: read %d bytes, %d events", i+1, name, got.size, len(got.events))
			}
		}
	}
	// readJournal holds at most this number of bytes for a line of any length.
	if _, err := readJournal(bytes.NewReader(bytes.Repeat([]byte("x"), 1<<20)), 1<<10); err == nil {
		t.Error("a line without an end was read as a head")
	}
}

// TestRecoverRefuses: Recover returns an error for a journal of another reservation, for files
// of an earlier fit without Overwrite, and while another fit writes to the folder. It then
// changes nothing.
func TestRecoverRefuses(t *testing.T) {
	ctx := context.Background()
	d, journal := killed(t, "gd", "", 2)
	for old, replacement := range map[string]string{
		`"fit":1`: `"fit":2`, `"epsilon":1`: `"epsilon":0.5`, `"delta":0.000001`: `"delta":0.00001`,
		"replace-one": "add-or-remove",
		`"journal":2`: `"journal":3`,
	} {
		other := d.Crash(0, durabletest.Kept{})
		other.Put("out/journal-1.jsonl", forged(t, journal, old, replacement))
		before := other.Tree()
		if _, err := recoverIn(ctx, other, diskOut, RecoverOptions{Overwrite: true}); err == nil {
			t.Errorf("%s: recovered", replacement)
		}
		if other.Tree() != before {
			t.Errorf("%s: refused, and something was changed", replacement)
		}
	}
	var earlier *durabletest.Disk
	for _, names := range [][]string{{CertificateFile}, {ModelFile}, {ModelFile, CertificateFile}} {
		earlier = d.Crash(0, durabletest.Kept{})
		for _, name := range names {
			earlier.Put("out/"+name, "{}")
		}
		before := earlier.Tree()
		_, err := recoverIn(ctx, earlier, diskOut, RecoverOptions{})
		wantError(t, err, "--overwrite replaces them")
		if earlier.Tree() != before {
			t.Errorf("%v: refused, and something was changed", names)
		}
	}
	if _, err := recoverIn(ctx, earlier, diskOut, RecoverOptions{Overwrite: true}); err != nil {
		t.Error(err)
	}
	wholeFiles(t, diskState(earlier))
	unlock, _, _ := d.Lock("out/.lock")
	_, err := recoverIn(ctx, d, diskOut, RecoverOptions{Overwrite: true})
	wantError(t, err, "another fit is writing there")
	unlock()
	if _, err := recoverIn(ctx, d, diskOut, RecoverOptions{Overwrite: true}); err != nil {
		t.Error(err)
	}
}

// FuzzJournal: readJournal must not panic for any text, and the lines that it accepts must be the beginning
// of the text.
func FuzzJournal(f *testing.F) {
	const line = `{"event":{"index":0,"kind":"gaussian","question":"gradient","cohort":0,"sensitivity":2,"sigma":20,"charge":0.01}}`
	const begin = `{"head":{"journal":1,"software":"test","fit":1,"relation":"replace-one","epsilon":1,"delta":1e-6,"records":3,"loss":"logistic","regularizer":"none","schema":{"columns":[{"name":"a","number":[0,1]}],"target":{"column":"y","classes":["0","1"]},"missing":[]},"plan":{}}}`
	f.Add(begin + "\n" + line + "\n" + `{"step":{"number":1,"norm":1,"w":[1,2]}}` + "\n")
	f.Add(begin + "\n" + `{"ready":{"certificate":"x"}}` + "\n")
	numbered := lineFormat{numbered: true}
	var text []byte
	for i, line := range []string{strings.Replace(begin, `"journal":1`, `"journal":2`, 1), line} {
		r, err := parseRecord([]byte(line))
		if err != nil {
			f.Fatal(err)
		}
		more, err := numbered.write(i+1, r)
		if err != nil {
			f.Fatal(err)
		}
		text = append(text, more...)
	}
	f.Add(string(text) + "\x00\x00")
	f.Add(string(text[:len(text)-1]) + "\x00")
	f.Fuzz(func(t *testing.T, text string) {
		told, err := readJournal(strings.NewReader(text), 1<<12)
		if err != nil {
			return
		}
		if told.size > int64(len(text)) || told.head == nil {
			t.Fatalf("%d of %d bytes", told.size, len(text))
		}
		again, err := readJournal(strings.NewReader(text[:told.size]+"\x00"), 1<<12)
		if err != nil || again.size != told.size || len(again.events) != len(told.events) {
			t.Fatalf("read again: %+v, %v", again, err)
		}
		if told.weights != nil && (len(told.weights) != told.head.Schema.Dim() || !finite(told.weights)) {
			t.Fatalf("weights %v", told.weights)
		}
		_, _, _ = told.head.Files(train.Released{Weights: told.weights, Events: told.events,
			Run: runrecord.Run{Plan: told.head.Plan}})
	})
}
