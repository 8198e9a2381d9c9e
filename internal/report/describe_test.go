package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/describe"
)

// TestDescriptionPage: the page of a description has the guarantee of its certificate, its records, the level and the
// tables, and escapes names of columns.
func TestDescriptionPage(t *testing.T) {
	b, err := account.NewBudget(.75, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	c, err := certificate.FromJournal(account.Journal{Budget: b, Records: account.Records{Count: 12345}},
		certificate.Params{Software: "a test", Algorithm: certificate.Algorithm{Name: describe.Name}, Complete: true,
			ModelSHA256: strings.Repeat("0", 64)})
	if err != nil {
		t.Fatal(err)
	}
	d := &describe.Description{Level: .9, Columns: []describe.Column{{Name: "a<b", Kind: "category",
		Levels: []describe.Level{{Name: "x", Share: describe.Value{Estimate: .5, Low: .25, High: .75}}}}}}
	var page bytes.Buffer
	if err := DescriptionPage("people", d, c).Render(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Description of people", "epsilon 0.75, delta 1e-06", "12,345", "level 90 %", "a&lt;b",
		"0 (50.0%)", "25.0% to 75.0%"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
