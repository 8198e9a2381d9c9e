package runfolder

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
)

// forged replaces a text in a journal and gives its lines the checksums that they then
// have.
func forged(t *testing.T, journal, old, replacement string) string {
	t.Helper()
	return rewritten(t, strings.Replace(asVersion1(t, journal), old, replacement, 1))
}

// rewritten gives lines without them numbers and checksums, and room behind them.
func rewritten(t *testing.T, lines string) string {
	t.Helper()
	numbered, text, number := form{numbered: true}, "", 0
	for line := range strings.Lines(lines) {
		rest := line[1 : len(line)-1]
		number++
		sum := numbered.lineSum(number, []byte(rest))
		if number == 1 {
			numbered.salt = sum
		}
		text += lineOpen + string(rune('0'+number)) + sumOpen + sum + sumClose + rest + "\n"
	}
	if number > 9 {
		t.Fatal("too many lines for numbers of one digit")
	}
	return text + "\x00\x00\x00"
}

// asVersion1 takes the numbers and checksums of a journal's lines away.
func asVersion1(t *testing.T, journal string) string {
	t.Helper()
	text := ""
	for line := range strings.Lines(strings.TrimRight(journal, "\x00")) {
		_, rest, ok := strings.Cut(line, sumClose)
		if !ok {
			t.Fatalf("line %s", line)
		}
		text += "{" + rest
	}
	return text
}

// versioned is a journal of version 1 as the program wrote it.
func versioned(t *testing.T, journal string) string {
	t.Helper()
	return strings.Replace(asVersion1(t, journal), `"journal":2`, `"journal":1`, 1)
}

// killedWithStore is what a kill leaves of a fit that is charged to a store, after all of
// its steps but before its files were ready.
func killedWithStore(t *testing.T) (s scene, d *durabletest.Disk, c *chains, a answers, journal string) {
	t.Helper()
	s = newScene(t, "gd")
	whole := durabletest.New()
	store := newChains(t, s, whole, 3, 4)
	_, a, err := storedFit(t, s, whole, store)
	if err != nil {
		t.Fatal(err)
	}
	mark := a.marks[len(a.marks)-1]
	d = whole.Crash(mark, durabletest.Kept{})
	journal, ok := d.Text("out/journal-1.jsonl")
	if !ok {
		t.Fatal("no journal")
	}
	return s, d, store.at(2, d), a, journal
}

// TestFlippedByte: no byte of a journal may change and have it prove anything else than it
// did, whether its last line is that of an event, whose answer was handed out, or another.
func TestFlippedByte(t *testing.T) {
	_, _, _, _, journal := killedWithStore(t)
	text := strings.TrimRight(journal, "\x00")
	flipped(t, text, 3)
	flipped(t, text[:strings.LastIndexByte(text[:len(text)-1], '\n')+1], 8)
}

// flipped changes bytes of lines, of which each byte some bits one at a time.
func flipped(t *testing.T, lines string, bits int) {
	t.Helper()
	if testing.Short() {
		bits = 1
	}
	room := strings.Repeat("\x00", 300)
	whole, err := readJournal(strings.NewReader(lines+room), mostLine)
	if err != nil || !whole.proves() || whole.size != int64(len(lines)) {
		t.Fatalf("%+v, %v", whole, err)
	}
	refused := 0
	for at := range len(lines) + 3 {
		changed := []byte{0, '\n', '{', '0'}
		for bit := range bits {
			changed = append(changed, (lines + room)[at]^1<<((at+bit)%8))
		}
		for _, b := range changed {
			text := []byte(lines + room)
			if text[at] == b {
				continue
			}
			text[at] = b
			got, err := readJournal(strings.NewReader(string(text)), mostLine)
			if err != nil || !got.proves() {
				refused++
			} else if !reflect.DeepEqual(got.events, whole.events) || !slices.Equal(got.weights, whole.weights) ||
				!slices.Equal(got.norms, whole.norms) {
				t.Fatalf("byte %d is %q: %d events of %d, and no damage", at, b, len(got.events), len(whole.events))
			}
		}
	}
	if refused < len(lines)*2 {
		t.Errorf("%d changes of %d bytes were noticed", refused, len(lines))
	}
}

// TestCutJournal: a journal that was cut off anywhere proves nothing, and one that a kill
// left in the midst of any line proves the lines before.
func TestCutJournal(t *testing.T) {
	_, _, _, _, journal := killedWithStore(t)
	size := len(strings.TrimRight(journal, "\x00"))
	first := strings.IndexByte(journal, '\n')
	for n := range size + 1 {
		if got, err := readJournal(strings.NewReader(journal[:n]), mostLine); err == nil && got.proves() {
			t.Errorf("cut off after byte %d of %d: %d events, and no damage", n, size, len(got.events))
		}
		if n <= first {
			continue
		}
		torn := journal[:n] + strings.Repeat("\x00", 200)
		got, err := readJournal(strings.NewReader(torn), mostLine)
		events := strings.Count(journal[:n], `"event":`)
		if journal[n] != '\n' && journal[n-1] != '\n' &&
			strings.Contains(journal[strings.LastIndexByte(journal[:n], '\n'):n], `"event":`) {
			events-- // of a line that is not all there
		}
		if err != nil || !got.proves() || len(got.events) != events {
			t.Fatalf("killed after byte %d: %d events of %d, damage in line %d, %v", n, len(got.events), events, got.damaged,
				err)
		}
	}
	// Past its lines nothing is lost by a cut, as long as some room is left.
	if got, err := readJournal(strings.NewReader(journal[:size+1]), mostLine); err != nil || !got.proves() {
		t.Errorf("cut off behind its lines: %+v, %v", got, err)
	}
}

// TestDamageKeepsTheCharge: a fit whose journal is damaged, cut off, or of another run is
// charged in full, however often it is recovered, and hinders no later fit. Its model is
// made of what is whole.
func TestDamageKeepsTheCharge(t *testing.T) {
	s, d, c, a, journal := killedWithStore(t)
	lines := strings.SplitAfter(strings.TrimRight(journal, "\x00"), "\n")
	room := strings.Repeat("\x00", 99)
	hole := strings.Repeat("\x00", len(lines[3]))
	last := len(lines) - 2 // of those that are not empty
	for name, text := range map[string]string{
		"a byte":        strings.Replace(journal, `"sigma"`, `"sigmb"`, 1),
		"the last byte": strings.TrimRight(journal, "\x00")[:len(strings.Join(lines, ""))-1] + "x" + room,
		"a line lost":   strings.Join(lines[:3], "") + strings.Join(lines[4:], "") + room,
		"a step lost":   strings.Join(lines[:2], "") + strings.Join(lines[3:], "") + room,
		"a line twice":  strings.Join(lines[:3], "") + strings.Join(lines[2:], "") + room,
		"lines swapped": strings.Join(lines[:last-1], "") + lines[last] + lines[last-1] + room,
		"a hole":        strings.Join(lines[:3], "") + hole + strings.Join(lines[4:], "") + room,
		"cut":           strings.Join(lines[:3], ""),
		"of version 1":  versioned(t, journal),
	} {
		left, store := d.Crash(0, durabletest.Kept{}), c.at(2, nil)
		left.Put("out/journal-1.jsonl", text)
		full := store.dataset(t)
		for range 2 {
			r, err := recoverIn(context.Background(), left, diskOut, RecoverOptions{Stores: store.open})
			if err != nil || !r.Files || len(r.Settlements) != 1 || r.Settlements[0].Kept == "" {
				t.Fatalf("%s: %+v, %v", name, r, err)
			}
			wholeFiles(t, diskState(left))
			got, _ := left.Text("out/journal-1.jsonl")
			if (r.Damaged > 0) != (name != "of version 1") || r.Damaged > 0 && got != text {
				t.Errorf("%s: line %d is damaged, the journal changed %v", name, r.Damaged, got != text)
			}
		}
		if got := store.dataset(t); got.Head != full.Head || got.Open < a.charged[len(a.charged)-1] {
			t.Errorf("%s: the store has %v reserved: must have %v", name, got.Open, full.Open)
		}
		// The next fit goes on, and leaves what may still be repaired.
		store.disk = left
		if f, _, err := storedFit(t, s, left, store); err != nil || len(f.Reclaimed) != 1 || f.Reclaimed[0].Kept == "" {
			t.Fatalf("%s: the next fit: %v", name, err)
		}
		if got := store.dataset(t); got.Open != full.Open {
			t.Errorf("%s: after the next fit %v is reserved: must be %v", name, got.Open, full.Open)
		}
		if got, _ := left.Text("out/journal-1.jsonl"); got != text {
			t.Errorf("%s: the next fit takes away what may be repaired", name)
		}
	}
	// As it was, it proves what it did.
	r, err := recoverIn(context.Background(), d, diskOut, RecoverOptions{Stores: c.open})
	if got := c.dataset(t); err != nil || r.Damaged != 0 || got.Open != 0 || got.Spent != r.Charged ||
		r.Charged < a.charged[len(a.charged)-1] {
		t.Errorf("undamaged: %+v, %v", r, err)
	}
}

// TestFilesProveAnOldRun: a run whose journal is of version 1 settles once its files are
// made, by its certificate, and not by a journal that says less.
func TestFilesProveAnOldRun(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 3, 4)
	f, _, err := storedFit(t, s, d, c)
	if err != nil {
		t.Fatal(err)
	}
	ready := 0
	for n, o := range d.Ops() {
		if o.String() == "rename out/.certificate.json-1 out/certificate.json" {
			ready = n
		}
	}
	for _, name := range []string{"whole", "less"} {
		left, store := d.Crash(ready, durabletest.Lost{}), c.at(2, nil)
		journal, _ := left.Text("out/journal-1.jsonl")
		text := versioned(t, journal)
		if name == "less" {
			text = text[:strings.LastIndex(text, `,"charged":`)] + `,"charged":0,"complete":true}}` + "\n"
		}
		left.Put("out/journal-1.jsonl", text)
		r, err := recoverIn(context.Background(), left, diskOut, RecoverOptions{Stores: store.open})
		if err != nil || !r.Complete {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		switch got := store.dataset(t); {
		case name == "whole" && (got.Open != 0 || got.Spent != f.Charged):
			t.Errorf("%s: %v spent, %v open: must be %v and 0", name, got.Spent, got.Open, f.Charged)
		case name == "less" && got.Open != f.Budget.Charge():
			t.Errorf("%s: %v open: must be %v", name, got.Open, f.Budget.Charge())
		}
	}
}

// TestRecoveredFilesProveNoOldRun: a certificate that was made from a journal of version 1
// proves no more than that did.
func TestRecoveredFilesProveNoOldRun(t *testing.T) {
	_, d, c, _, _ := killedWithStore(t)
	away := func(context.Context, string) (*budget.Book, error) { return nil, errUnreachable }
	r, err := recoverIn(context.Background(), d, diskOut, RecoverOptions{Stores: away})
	if !errors.Is(err, errUnreachable) || !r.Files {
		t.Fatalf("%+v, %v", r, err)
	}
	journal, ok := d.Text("out/journal-1.jsonl")
	if !ok || !strings.Contains(journal, `"ready":`) {
		t.Fatalf("journal\n%s", journal)
	}
	d.Put("out/journal-1.jsonl", versioned(t, journal))
	full := c.dataset(t)
	for range 2 {
		r, err := recoverIn(context.Background(), d, diskOut, RecoverOptions{Stores: c.open})
		if err != nil || len(r.Settlements) != 1 || r.Settlements[0].Kept == "" || c.dataset(t).Open != full.Open {
			t.Fatalf("%+v, %v: %v is open", r, err, c.dataset(t).Open)
		}
	}
}

// TestDamageOfAnEndedFit: the ledger of a fit whose store was out of reach says what was
// charged; it is believed as far as the certificate, which is sealed, says the same.
func TestDamageOfAnEndedFit(t *testing.T) {
	s := newScene(t, "gd")
	d := durabletest.New()
	c := newChains(t, s, d, 3, 4)
	f, _, err := storedFit(t, s, d, c)
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := d.Text("out/certificate.json")
	for name, damage := range map[string]func(d *durabletest.Disk){
		"ledger": func(d *durabletest.Disk) {
			text := ledgerText(d)
			at := strings.LastIndex(text, `"charged":0.0`) + len(`"charged":0.0`)
			d.Put("out/ledger.jsonl", text[:at]+"0"+text[at+1:])
		},
		"certificate": func(d *durabletest.Disk) {
			d.Put("out/certificate.json", strings.Replace(cert, `"charged": 0.0`, `"charged": 0.00`, 1))
		},
		"no certificate": func(d *durabletest.Disk) { _ = d.Remove("out/model.json"); _ = d.Remove("out/certificate.json") },
	} {
		left, store := d.Crash(len(d.Ops()), durabletest.Kept{}), c.at(2, nil)
		damage(left)
		r, err := recoverIn(context.Background(), left, diskOut, RecoverOptions{Stores: store.open})
		if err != nil || len(r.Settlements) != 1 || r.Settlements[0].Kept == "" ||
			store.dataset(t).Open != f.Budget.Charge() {
			t.Errorf("%s: %+v, %v: %v is open", name, r, err, store.dataset(t).Open)
		}
	}
}
