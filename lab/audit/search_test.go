package audit

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/querytest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// attainable returns the largest fraction of the charged sensitivity by which a change of one record can
// move an answer in theory. It is 1, except for gradient differences that are clipped to a ball around 0. A
// record's gradient difference is between lo and hi times the distance of the two points (the step). The
// differences of two records are therefore at most (hi-lo) times the step apart. But the charge is for the
// ball around 0, for 2 max(|lo|, hi) times the step.
func attainable(form string, k loss.Constants, r account.Relation) float64 {
	if form == "difference around 0" && r == account.ReplaceOne {
		lo, hi := min(0, k.Curvature.Lo), max(0, k.Curvature.Hi)
		return (hi - lo) / (2 * max(-lo, hi))
	}
	return 1
}

// TestSearchReachesTheSensitivity tests that the search over points and records comes within a
// tenth of the charged sensitivity wherever the loss can reach it, and never exceeds it. A charge
// that is wrong by a factor of two fails here.
func TestSearchReachesTheSensitivity(t *testing.T) {
	names := []string{"logistic", "tanh", "sigmoid", "welsch(0.4)", "geman-mcclure(0.3)", "tukey(0.5)", "huber(0.3)",
		"squared(0.5)", "poisson(0.5)", "smoothed-hinge(0.5)", "softmax(3)"}
	forms := []string{"gradient", "difference by curvature", "difference around 0",
		"difference around 0, part of the radius", "mix", "value, short clip",
		"second moment", "curvature, short clip", "gradient in a metric, short clip", "squared slope"}
	if testing.Short() {
		names, forms = names[:3], forms[:4]
	}
	for i, name := range names {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for j, form := range forms {
			if form == "curvature, short clip" && loss.Count(l) > 1 {
				continue // this form is for losses of one margin only
			}
			for k, r := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
				if (i+j)%2 != k && !*long {
					continue // each form is tried under each relation with half of the losses
				}
				f, err := Search(context.Background(), l, r, form, 0, 1)
				if err != nil {
					t.Fatal(err)
				}
				want := .9 * attainable(form, l.Constants(), r)
				t.Logf("%-20s %-42s %-14v %.4f", name, form, r, f.Ratio)
				if !(f.Ratio <= 1) || math.IsNaN(f.Ratio) {
					t.Errorf("%s: %s, %v: %.9f times the charged sensitivity: %s", name, form, r, f.Ratio, f.Neighbour)
				}
				if f.Ratio < want {
					t.Errorf("%s: %s, %v: the search reaches only %.3f of the charged sensitivity, want %.3f", name, form, r, f.Ratio,
						want)
				}
			}
		}
	}
}

// TestEveryKindIsSearched tests that Search accepts every form of every kind of query. For each
// form it must find neighbours whose answers differ by more than a fifth of the charged
// sensitivity, and by no more than the charged sensitivity.
func TestEveryKindIsSearched(t *testing.T) {
	l, err := loss.Parse("tanh")
	if err != nil {
		t.Fatal(err)
	}
	steps := 40
	if testing.Short() {
		steps = 12
	}
	for _, k := range query.Kinds() {
		if len(querytest.Forms(k)) == 0 {
			t.Errorf("%v: has no form, so that no audit asks it", k)
		}
		for _, form := range querytest.Forms(k) {
			if !slices.Contains(Forms(), form.Name) {
				t.Errorf("%v: %s: is not searched", k, form.Name)
				continue
			}
			for _, r := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
				f, err := Search(context.Background(), l, r, form.Name, steps, 1)
				if err != nil {
					t.Fatal(err)
				}
				if !(f.Ratio > .2 && f.Ratio <= 1) {
					t.Errorf("%s, %v: %.9f times the charged sensitivity, want up to 1 and not next to nothing: %s", form.Name, r,
						f.Ratio, f.Neighbour)
				}
			}
		}
	}
}

// TestSearchOfNetworks tests that rows of norm 0 or almost 0, at weights up to the largest float,
// move a network's answers by at most the charged sensitivity.
func TestSearchOfNetworks(t *testing.T) {
	for _, name := range []string{"network(2,tanh,huber(0.3))", "network(2,relu,logistic)"} {
		l, err := loss.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{"gradient", "difference around 0", "value, short clip"} {
			for _, r := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
				f, err := Search(context.Background(), l, r, form, 20, 1)
				if err != nil {
					t.Fatal(err)
				}
				if !(f.Ratio > .2 && f.Ratio <= 1) {
					t.Errorf("%s: %s, %v: %.9f times the charged sensitivity, want up to 1 and not next to nothing: %s",
						name, form, r, f.Ratio, f.Neighbour)
				}
			}
		}
	}
}
