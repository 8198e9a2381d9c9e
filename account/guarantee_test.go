package account_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestGuarantees tests that a budget's guarantee has the budget's epsilon, delta, relation and mu,
// that its text and its JSON have a fixed form, and that it adds up only with guarantees of the
// same relation and unit. Check refuses each field that is out of range.
func TestGuarantees(t *testing.T) {
	b, err := account.NewBudget(1, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	rows, people := b.Guarantee(""), b.Guarantee("person")
	for g, want := range map[account.Guarantee][2]string{
		rows: {"(epsilon 1, delta 1e-06) under replace-one",
			`{"relation":"replace-one","epsilon":1,"delta":0.000001,"mu":0.2367043806634357}`},
		people: {"(epsilon 1, delta 1e-06) under replace-one, for all rows of one person",
			`{"relation":"replace-one","epsilon":1,"delta":0.000001,"unit":"person","mu":0.2367043806634357}`},
	} {
		text, err := json.Marshal(g)
		if err != nil || string(text) != want[1] || g.Text() != want[0] || g.Check() != nil || g.Mu != b.Mu() {
			t.Errorf("%s, %s, %v, %v", g.Text(), text, err, g.Check())
		}
		var again account.Guarantee
		if err := json.Unmarshal(text, &again); err != nil || again != g {
			t.Errorf("read again: %+v, %v", again, err)
		}
	}
	added := b
	if added, err = account.NewBudget(2, 1e-9, account.AddOrRemove); err != nil {
		t.Fatal(err)
	}
	if !rows.Adds(rows) || rows.Adds(people) || people.Adds(rows) || rows.Adds(added.Guarantee("")) {
		t.Error("what adds up")
	}
	for want, change := range map[string]func(*account.Guarantee){
		"relation":       func(g *account.Guarantee) { g.Relation = 0 },
		"epsilon = 0":    func(g *account.Guarantee) { g.Epsilon = 0 },
		"epsilon = +Inf": func(g *account.Guarantee) { g.Epsilon = math.Inf(1) },
		"delta = 1":      func(g *account.Guarantee) { g.Delta = 1 },
		"delta = NaN":    func(g *account.Guarantee) { g.Delta = math.NaN() },
		"mu = -1":        func(g *account.Guarantee) { g.Mu = -1 },
		"mu = NaN":       func(g *account.Guarantee) { g.Mu = math.NaN() },
	} {
		g := rows
		change(&g)
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: must contain %q", err, want)
		}
	}
}
