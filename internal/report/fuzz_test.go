package report

import (
	"io"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
)

// FuzzPage tests that a page survives hostile files. An attacker can choose the plan in a
// certificate, and somebody who can write to the folder can choose the ledger. For any plan and
// ledger the result must be a page or an error, never a panic.
func FuzzPage(f *testing.F) {
	folder := people(f, "p", 4)
	f.Add(string(folder.algorithm.Plan), entries(folder.budget, "/d/people.csv"))
	f.Add(`{"gradient_norms":[1e308,-1e308,0],"steps":-1,"clip":1e-320,"measured":{"loss":-1e300}}`,
		entries(folder.budget, "", "\u202e"))
	f.Add(`{"citation":"<script>","effective_size":1e400}`, `{`)
	f.Fuzz(func(t *testing.T, plan, ledger string) {
		mine := folder
		mine.algorithm.Plan, mine.ledger = []byte(plan), ledger
		journal := account.Journal{Budget: mine.budget, Records: account.Records{Count: 1}, Events: mine.events}
		if _, err := certificate.FromJournal(journal,
			certificate.Params{Software: mine.software, Algorithm: mine.algorithm}); err != nil {
			return // a certificate rejects such a plan
		}
		fit, err := ReadFit(t.Context(), mine.write(t))
		if err != nil {
			return
		}
		page, err := fit.Page(t.Context())
		if err != nil {
			return
		}
		if err := page.Render(io.Discard); err != nil {
			t.Fatal(err)
		}
	})
}
