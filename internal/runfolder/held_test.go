package runfolder

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/ledgerfile"
)

// TestLastReservationIsAskedAbout: of a folder's ledger, held asks the store of the last reservation, and that of no earlier
// one; an intent's store is asked before.
func TestLastReservationIsAskedAbout(t *testing.T) {
	entries := []Entry{
		{Entry: ledgerfile.Reserved, Store: "first", Run: "a"}, {Entry: ledgerfile.Settled, Store: "first", Run: "a"},
		{Entry: ledgerfile.Reserved, Store: "second", Run: "b"}, {Entry: ledgerfile.Settled, Store: "third", Run: "c"},
	}
	for _, c := range []struct {
		entries []Entry
		left    []intent
		want    []string
	}{
		{entries, nil, []string{"second"}}, {entries[:2], nil, []string{"first"}}, {entries[3:], nil, nil},
		{entries, []intent{{Store: "of an intent", Run: "i"}}, []string{"of an intent", "second"}},
		{entries, []intent{{Store: "of no run"}}, []string{"second"}},
	} {
		var asked []string
		err := (&folder{}).held(t.Context(), func(_ context.Context, address string) (*budget.Book, error) {
			asked = append(asked, address)
			return nil, errors.New("no store")
		}, c.entries, c.left)
		if err != nil || !slices.Equal(asked, c.want) {
			t.Errorf("%d entries, intents %v: asked %q, %v: must ask %q", len(c.entries), c.left, asked, err, c.want)
		}
	}
}
