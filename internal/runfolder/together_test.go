package runfolder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestTogetherToTheLetter tests the text about a fit and two earlier ones of the same table: an epsilon that is larger
// than the fit's own comes before the delta.
func TestTogetherToTheLetter(t *testing.T) {
	b, err := account.NewBudget(1.5, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	own := train.Entry{}
	own.Guarantee = b.Guarantee("")
	f := &Fitted{Fitted: &train.Fitted{Planned: train.Planned{Budget: b}, Entry: own}, Earlier: []Entry{own, own}}
	epsilon, ok := f.Sum(t.Context())
	if !ok || epsilon < 2.5 || epsilon > 3 { // sqrt 3 times the mu
		t.Fatal(epsilon, ok)
	}
	text := f.Together(t.Context())
	if want := fmt.Sprintf("with 2 earlier fits of this table: epsilon %.4g at delta 1e-06; every fit costs a budget of its own",
		RoundUp(epsilon)); text != want {
		t.Errorf("%q: must be %q", text, want)
	}
	if f.Earlier = f.Earlier[1:]; !strings.HasPrefix(f.Together(t.Context()), "with 1 earlier fit of this table: epsilon 2.") {
		t.Error(f.Together(t.Context()))
	}
}
