package runfolder

import (
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/holder"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
)

// TestJournalsOfUnknownFits tests the proof that a run released nothing, beside a ledger that lacks it: a journal must
// have no event and no damage, and be readable or absent. A ledger beside a journal with one of the two was lost or put
// back.
func TestJournalsOfUnknownFits(t *testing.T) {
	_, d, _, _, journal := killedWithStore(t)
	lines := strings.SplitAfter(journal, "\n")
	head := lines[0]
	for _, c := range []struct {
		name, journal string // of the fit 2; "" for none
		known         bool   // whether something may have been released
	}{
		{"no journal", "", false},
		{"half a head", head[:len(head)/2], false},
		{"a head", head + "\x00\x00", false},
		{"a damaged line", head + "x\n\x00", true},
		{"a cut file", head, true},
		{"a head and events", strings.Join(lines[:3], "") + "\x00", true},
	} {
		if c.journal != "" {
			d.Put("out/journal-2.jsonl", c.journal)
		}
		f := &folder{disk: d, path: diskOut, fit: 1}
		text, err := f.text(f.path)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := ledgerfile.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.lost(entries); (err != nil) != c.known {
			t.Errorf("%s: the ledger: %v", c.name, err)
		}
		place := f.here(nil)
		begun := intent{Fit: 2, Place: &place, Ledger: linesOf(text)}
		if e := f.nothing(begun); (e.why != "") != c.known || !c.known && e.events != -1 ||
			c.known && !strings.Contains(e.why, "lacks fit 2, whose journal is there") {
			t.Errorf("%s: nothing was released: %+v", c.name, e)
		}
		// The same folder proves nothing of an intent of another place, or of a ledger that has lost lines.
		other, more := place, *begun.Ledger
		other.Folder = holder.File{Device: place.Folder.Device, Inode: place.Folder.Inode + 1}
		more.Size--
		for _, i := range []intent{{Fit: 2, Place: &other, Ledger: begun.Ledger}, {Fit: 2, Ledger: begun.Ledger},
			{Fit: 2, Place: &place, Ledger: &more}, {Fit: 2, Place: &place}} {
			if e := f.nothing(i); e.why == "" {
				t.Errorf("%s: %+v proves that nothing was released", c.name, i)
			}
		}
	}
}
