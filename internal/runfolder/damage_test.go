package runfolder

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
)

// forged replaces a text in a journal and recomputes the checksums of its lines.
func forged(t *testing.T, journal, old, replacement string) string {
	t.Helper()
	return rewritten(t, strings.Replace(asVersion1(t, journal), old, replacement, 1))
}

// rewritten adds numbers, checksums and reserved space to the lines of a journal of version 1.
func rewritten(t *testing.T, lines string) string {
	t.Helper()
	numbered, text, number := lineFormat{numbered: true}, "", 0
	for line := range strings.Lines(lines) {
		rest := line[1 : len(line)-1]
		number++
		sum := numbered.lineSum(number, []byte(rest))
		if number == 1 {
			numbered.salt = sum
		}
		text += lineOpen + strconv.Itoa(number) + sumOpen + sum + sumClose + rest + "\n"
	}
	return text + "\x00\x00\x00"
}

// asVersion1 removes the numbers, checksums and reserved space of a journal, which journals of
// version 1 did not have.
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

// versioned returns a journal in the form in which earlier programs wrote it: version 1.
func versioned(t *testing.T, journal string) string {
	t.Helper()
	return strings.Replace(asVersion1(t, journal), `"journal":2`, `"journal":1`, 1)
}

// killedWithStore returns the state that a kill leaves after all steps of a fit, before its
// files are ready. The fit is charged to a store.
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

// TestFlippedByte changes each byte of a journal in several ways. The changed journal must prove no
// charge, or it proves the same events, weights and norms as before. The last line is a step's in
// one case and an event's in the other.
func TestFlippedByte(t *testing.T) {
	_, _, _, _, journal := killedWithStore(t)
	text := strings.TrimRight(journal, "\x00")
	flipped(t, text, 1)
	bits := 2
	if *long {
		bits = 8
	}
	flipped(t, text[:strings.LastIndexByte(text[:len(text)-1], '\n')+1], bits)
}

// flipped changes each byte of a journal's lines: it sets the byte to some other values, and
// inverts some of its bits one at a time.
func flipped(t *testing.T, lines string, bits int) {
	t.Helper()
	stride := 1
	if testing.Short() {
		bits, stride = 1, 5
	}
	room := strings.Repeat("\x00", 300)
	whole, err := readJournal(strings.NewReader(lines+room), mostLine)
	if err != nil || !whole.proves() || whole.size != int64(len(lines)) {
		t.Fatalf("%+v, %v", whole, err)
	}
	refused := 0
	for at := 0; at < len(lines)+3; at += stride {
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
	if refused < len(lines)/stride*2 {
		t.Errorf("%d changes of %d bytes were noticed", refused, len(lines))
	}
}

// TestCutJournal cuts a journal at every byte. If the file ends there, it must prove no charge. If
// zeros follow, as a kill leaves the file, it must prove its whole lines.
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
			events-- // the event's line is incomplete
		}
		if err != nil || !got.proves() || len(got.events) != events {
			t.Fatalf("killed after byte %d: %d events of %d, damage in line %d, %v", n, len(got.events), events, got.damaged,
				err)
		}
	}
	// A cut behind the lines loses nothing if some reserved space is left.
	if got, err := readJournal(strings.NewReader(journal[:size+1]), mostLine); err != nil || !got.proves() {
		t.Errorf("cut off behind its lines: %+v, %v", got, err)
	}
}

// TestDamageKeepsTheCharge tests that a fit stays charged in full in its store of budgets if its
// journal is damaged, cut off or of version 1, however often it is recovered. Its model is made
// from the lines before the damage. The next fit in the folder runs and keeps the journal.
func TestDamageKeepsTheCharge(t *testing.T) {
	s, d, c, a, journal := killedWithStore(t)
	lines := strings.SplitAfter(strings.TrimRight(journal, "\x00"), "\n")
	room := strings.Repeat("\x00", 99)
	hole := strings.Repeat("\x00", len(lines[3]))
	last := len(lines) - 2 // lines holds an empty text after the last newline
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
		// The next fit runs, and does not remove the journal, which somebody may still repair.
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
	// Undamaged, the journal proves the charge.
	r, err := recoverIn(context.Background(), d, diskOut, RecoverOptions{Stores: c.open})
	if got := c.dataset(t); err != nil || r.Damaged != 0 || got.Open != 0 || !nearly(got.Spent, r.Charged) ||
		r.Charged < a.charged[len(a.charged)-1] {
		t.Errorf("undamaged: %+v, %v", r, err)
	}
}

// TestFilesProveAnOldRun: if the files of a run with a journal of version 1 are ready, the run
// is settled by its certificate. It stays charged in full if the journal states another charge
// than the certificate.
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
		case name == "whole" && (got.Open != 0 || !nearly(got.Spent, f.Charged)):
			t.Errorf("%s: %v spent, %v open: must be %v and 0", name, got.Spent, got.Open, f.Charged)
		case name == "less" && got.Open != f.Budget.Charge():
			t.Errorf("%s: %v open: must be %v", name, got.Open, f.Budget.Charge())
		}
	}
}

// TestRecoveredFilesProveNoOldRun: a certificate that was made from a journal of version 1 does
// not settle the run, since such a journal proves no charge.
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

// TestDamageOfAnEndedFit: a fit has ended, and its store could not be reached. It is settled
// later only if ledger and certificate state the same charge. If one of the two is altered, or
// the certificate is missing, the fit stays charged in full.
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
