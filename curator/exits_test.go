package curator_test

import (
	"context"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// exits are the only functions through which results from records leave the package, with the basis
// of the sensitivity in their events.
var exits = map[string]account.Basis{
	"Session.Ask":    account.Clipped,
	"Session.Select": account.Clipped,
	"PrefixSum.Add":  account.Clipped,
	"Session.Stable": account.Stability,
}

// TestExitsAreListed: the entries of the list carriers that return an answer, and the package's
// documentation, name exactly these exits and their basis.
func TestExitsAreListed(t *testing.T) {
	var answers []string
	for name, reason := range carriers {
		if strings.Contains(reason, "charge reserved first") {
			answers = append(answers, strings.NewReplacer("(*", "", ")", "").Replace(name))
		}
	}
	slices.Sort(answers)
	if want := slices.Sorted(maps.Keys(exits)); !slices.Equal(answers, want) {
		t.Errorf("the carriers of answers are %v, want %v", answers, want)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]account.Basis{}
	for _, item := range items(f) {
		name, trust, ok := strings.Cut(item, "]: ")
		if !ok || !strings.Contains(trust, "It trusts ") {
			t.Errorf("%q does not say what it trusts", item)
		}
		basis := account.Stability
		if strings.Contains(trust, "It trusts nothing a loss declares.") {
			basis = account.Clipped
		}
		documented[strings.TrimPrefix(name, "[")] = basis
	}
	if !maps.Equal(documented, exits) {
		t.Errorf("the documentation says %v, want %v", documented, exits)
	}
}

// items are the list items of a file's package documentation, on one line each.
func items(f *ast.File) []string {
	var list []string
	for _, block := range new(comment.Parser).Parse(f.Doc.Text()).Content {
		l, ok := block.(*comment.List)
		if !ok {
			continue
		}
		for _, item := range l.Items {
			text := (&comment.Printer{}).Text(&comment.Doc{Content: item.Content})
			list = append(list, strings.Join(strings.Fields(string(text)), " "))
		}
	}
	return list
}

// TestExitsChargeAsListed: each exit makes one event, with the listed basis. Methods without an
// answer make none.
func TestExitsChargeAsListed(t *testing.T) {
	s := open(t, write(t, "people.csv", "age,job,ill\n"+strings.Repeat(people[len("age,job,ill\n"):], 200)))
	ctx, w := context.Background(), make([]float64, 5)
	draw := func() query.Cohort { return must[query.Cohort](t)(s.Draw(100)) }
	p := must[query.PrefixSum](t)(s.OpenPrefix(query.Prefix{Factorization: query.Toeplitz, Items: 2, Sensitivity: .1,
		Charge: .001}))
	for name, ask := range map[string]func() error{
		"Session.Ask": func() error {
			_, err := s.Ask(ctx, must[query.Question](t)(query.New(.001, query.GradientAt(draw(), w, 1))))
			return err
		},
		"Session.Select": func() error {
			c := draw()
			_, err := s.Select(ctx, must[query.Selection](t)(query.NewSelection(.01, query.ValueAt(c, w, 1, 1),
				query.ValueAt(c, w, 1, 1))))
			return err
		},
		"PrefixSum.Add": func() error { _, err := p.Add(ctx, query.GradientAt(draw(), w, 1)); return err },
		"Session.Stable": func() error {
			_, err := s.Stable(ctx, must[query.Stable](t)(query.NewStable(.001, draw(), query.Pass{Start: w, Step: 1, Clip: 1})))
			return err
		},
	} {
		before := s.Ledger().Len()
		if err := ask(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		events := s.Ledger().Events()
		if len(events) != before+1 {
			t.Fatalf("%s: %d events more, want one", name, len(events)-before)
		}
		basis, listed := exits[name]
		if e := events[before]; !listed || e.Basis != basis || e.Simulated {
			t.Errorf("%s: event %+v, listed %t with basis %q", name, e, listed, basis)
		}
	}
}
