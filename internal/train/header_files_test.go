package train

import (
	"errors"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/dataset"
)

// unsealed is a session with the given ledger.
type unsealed struct{ v account.View }

func (s unsealed) Ledger() account.View { return s.v }

// TestNothingIsCertifiedUnsoundly tests that files are not made of a session whose ledger may go on or says nothing of its
// records, or of a journal that lacks an event: the error is told, and there is no certificate.
func TestNothingIsCertifiedUnsoundly(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	open, err := account.OpenLedger(b, account.Records{Count: 100})
	if err != nil {
		t.Fatal(err)
	}
	bare := account.NewLedger(b)
	bare.End()
	h := Header{Records: 100, Schema: new(dataset.Schema)}
	h.Epsilon, h.Delta, h.Relation = 1, 1e-6, account.ReplaceOne
	for name, r := range map[string]Released{
		"a session that is open": {Session: unsealed{open.View()}},
		"a ledger of no records": {Session: unsealed{bare.View()}},
		"a journal with a gap":   {Events: []account.Event{{Index: 1}}},
	} {
		if _, cert, err := h.Files(r); !errors.Is(err, certificate.ErrUnsound) || cert != nil {
			t.Errorf("%s: %v, %v: must be %v", name, cert, err, certificate.ErrUnsound)
		}
	}
}
