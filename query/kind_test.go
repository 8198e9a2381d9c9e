package query

import (
	"slices"
	"strings"
	"testing"
)

// TestTableOfKinds: the entry of each kind must be complete and consistent with the ways in which queries
// may use the kind. Its forms must be queries of that kind that are valid in exactly these ways.
func TestTableOfKinds(t *testing.T) {
	kinds := Kinds()
	if len(kinds) != len(table)-1 || kinds[0] != 1 || Kind(0).Facts() != (Facts{}) ||
		Kind(len(table)).Facts() != (Facts{}) || FormsOf(Kind(len(table)), some, at(1, 2), at(.5, -1), -.5, 1, 2) != nil {
		t.Fatalf("kinds %v of a table of %d", kinds, len(table)-1)
	}
	names, forms := map[string]bool{}, map[string]bool{}
	for _, k := range kinds {
		f := k.Facts()
		if f.Name == "" || names[f.Name] || k.String() != f.Name {
			t.Errorf("kind %d is called %q", uint8(k), f.Name)
		}
		names[f.Name] = true
		for what, broken := range map[string]bool{
			"a norm of a number":                              f.Normed && f.Number,
			"the norm of a sum beside other terms":            f.Normed && k.May(Mixed),
			"a norm without a rounding after the sum":         f.Normed && f.Roundings == 0,
			"a candidate whose score is a vector":             k.May(Candidate) && !f.Number && !f.Normed,
			"an item that is no vector of the sum":            k.May(Item) && (f.Number || f.Normed),
			"a vector anywhere: zero may be outside its ball": !f.Number && f.Centre == Anywhere,
			"a number about a step":                           f.Number && f.Centre == AlongStep,
		} {
			if broken {
				t.Errorf("%v: %s", k, what)
			}
		}
		all := FormsOf(k, some, at(1, 2), at(.5, -1), -.5, 1, 2)
		if len(all) == 0 {
			t.Errorf("%v: no form, so that no audit asks it", k)
		}
		for _, form := range all {
			if form.Name == "" || forms[form.Name] || !strings.HasPrefix(form.Name, f.Name) {
				t.Errorf("%v: a form is called %q", k, form.Name)
			}
			forms[form.Name] = true
			terms := form.Terms
			if !slices.ContainsFunc(terms, func(term Term) bool { return term.Kind() == k }) {
				t.Errorf("%s: has no %v", form.Name, k)
			}
			if q, err := New(1, terms...); err != nil || q.Facts() != f || q.Dim() != f.Dim(2) || q.SumDim() != f.SumDim(2) {
				t.Errorf("%s: %v", form.Name, err)
			}
			checkUses(t, k, terms)
		}
	}
}

// checkUses compares the queries that may be made of the given terms with the uses that the table of
// kinds allows.
func checkUses(t *testing.T, k Kind, terms []Term) {
	t.Helper()
	if _, err := New(1, terms[0], terms[0]); (err == nil) != k.May(Mixed) {
		t.Errorf("%v beside another: %v", k, err)
	}
	if _, err := NewSelection(1, terms[0], terms[0]); (err == nil) != k.May(Candidate) {
		t.Errorf("%v as a candidate: %v", k, err)
	}
	for _, u := range []Ways{Mixed, Candidate, Item, Sampled} {
		q, err := New(1, terms...)
		if err != nil || q.May(u) != k.May(u) {
			t.Errorf("%v, use %d: the question disagrees with the table", k, u)
		}
	}
}

// TestCentres tests that the centre of a term's clip ball must be one that the Centre of its kind
// allows.
func TestCentres(t *testing.T) {
	for _, k := range Kinds() {
		for _, form := range FormsOf(k, some, at(1, 2), at(.5, -1), -.5, 1, 2) {
			term := form.Terms[0]
			small, large := term, term
			small.ball.Centre, large.ball.Centre = 1e-3*term.ball.Radius, 1e3*term.ball.Radius
			_, near := New(1, small)
			_, far := New(1, large)
			rule := k.Facts().Centre
			if (near == nil) != (rule != AtZero) || (far == nil) != (rule == Anywhere) {
				t.Errorf("%s: a centre nearby: %v; far away: %v", form.Name, near, far)
			}
		}
	}
}

// TestOver tests that Over changes nothing about a term but its cohort.
func TestOver(t *testing.T) {
	for _, k := range Kinds() {
		term := FormsOf(k, some, at(1, 2), at(.5, -1), 0, 1, 2)[0].Terms[0].Weighted(.5)
		other := term.Over(everyone)
		if other.Cohort() != everyone || term.Cohort() != some {
			t.Errorf("%v: about %v, from %v", k, other.Cohort(), term.Cohort())
		}
		if back := other.Over(some); back.Kind() != k || back.Weight() != .5 || back.Ball() != term.Ball() ||
			back.Cohort() != some {
			t.Errorf("%v: became %+v", k, back)
		}
	}
}

// TestSuits: kinds that depend on features alone suit every loss, kinds that use the loss's slopes
// suit losses of margins <w,x>, and kinds that use its curvature suit losses of one margin.
func TestSuits(t *testing.T) {
	least, most := map[Kind]int{MetricGradient: 1, SquaredSlope: 1, Curvature: 1}, map[Kind]int{Curvature: 1}
	rows := map[Kind]bool{WeightedGradient: true, WeightedCurvature: true, ScoreMoment: true, WeightedMoment: true}
	for k := range rows {
		least[k] = 1
	}
	most[WeightedMoment] = 1
	twice := map[Kind]bool{Product: true, ProductChange: true, CurvatureAlong: true}
	for _, k := range Kinds() {
		if got, want := k.Facts().Suits(Scored, true, false), k.Facts().Losses != OfOneMargin && k != WeightedMoment; got != want {
			t.Errorf("%v of a loss with a score: %v, want %v", k, got, want)
		}
		for margins := range 5 {
			for _, products := range []bool{false, true} {
				want := margins >= least[k] && (most[k] == 0 || margins <= most[k]) && (products || !twice[k])
				if got := k.Facts().Suits(margins, products, false); got != want {
					t.Errorf("%v of a loss of %d margins, products %v: %v, want %v", k, margins, products, got, want)
				}
				if got := k.Facts().Suits(margins, products, true); got != (want || rows[k]) {
					t.Errorf("%v of a unit's loss, margins %d, products %v: %v", k, margins, products, got)
				}
			}
		}
	}
}
