package budget

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
)

// TestAlteredRowsAreJudged alters each member of each row of a chain, hashes the row anew, and compares what the chain
// says of it with testdata/altered.golden, which is written by go test ./budget -run AlteredRowsAreJudged -update.
func TestAlteredRowsAreJudged(t *testing.T) {
	limit := newCap(t, account.ReplaceOne, 8)
	c := newChain("people")
	var rows []Row
	add := func(e entry) {
		t.Helper()
		e.Number, e.Dataset, e.Time = c.number+1, c.name, "2026-01-02"
		row, err := e.write(c.head)
		if err == nil {
			err = c.take(row)
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	reserve := func(run string, l Limit) {
		t.Helper()
		cost, err := l.cost(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		add(entry{Kind: kindReserved, Run: run, Label: "a fit", Limit: &l, Cost: &cost, Held: run == "b"})
	}
	sampled := gaussian(.25, account.AddOrRemove)
	sampled.Schedule = sampledSteps
	charged := .03
	add(entry{Kind: kindCreated, Salt: "s", Cap: &limit})
	reserve("a", gaussian(.25, account.ReplaceOne))
	reserve("b", sampled)
	add(entry{Kind: kindSettled, Run: "a", Charged: &charged})
	add(entry{Kind: kindClosed})
	var got strings.Builder
	judge := func(name string, at int, text string) {
		chain, head := newChain("people"), ""
		for i, r := range rows[:at+1] {
			if i == at {
				r.Text = text
			}
			r.Hash = chained(head, r.Text)
			head = r.Hash
			if err := chain.take(r); err != nil {
				fmt.Fprintf(&got, "row %d, %s: %v\n", at+1, name, err)
				return
			}
		}
		d, err := chain.dataset()
		fmt.Fprintf(&got, "row %d, %s: %.9g of %.9g, epsilon %.9g, %d runs, closed %v, %v\n", at+1, name, d.Spent, d.Charge, d.Epsilon,
			len(d.Runs), d.Closed, err)
	}
	value := regexp.MustCompile(`"(\w+)":("[^"]*"|-?[0-9.e+-]+|true|false)(,?)`)
	for at, r := range rows {
		judge("as it is", at, r.Text)
		judge("empty", at, "")
		judge("with a space", at, strings.Replace(r.Text, ",", ", ", 1))
		judge("with another member", at, strings.TrimSuffix(r.Text, "}")+`,"x":1}`)
		for _, m := range value.FindAllStringSubmatchIndex(r.Text, -1) {
			key, was := r.Text[m[2]:m[3]], r.Text[m[4]:m[5]]
			others := []string{"-1", "0", "1", "2", "0.07", "1e-300", "1e300", `"x"`}
			if was[0] == '"' {
				others = []string{`""`, `"x"`, `"a"`, `"b"`, `"\u0001"`, `"` + strings.Repeat("long", 100) + `"`, `"add-or-remove"`,
					`"created"`, `"reserved"`, `"settled"`, `"closed"`, "7"}
			}
			for _, other := range others {
				if other != was {
					judge(fmt.Sprintf("%s %.20s", key, other), at, r.Text[:m[4]]+other+r.Text[m[5]:])
				}
			}
			without := r.Text[:m[0]] + r.Text[m[1]:]
			judge("without "+key, at, strings.Replace(strings.ReplaceAll(without, ",}", "}"), "{,", "{", 1))
		}
	}
	recordedtest.Compare(t, "testdata/altered.golden", got.String())
}
