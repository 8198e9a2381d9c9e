package model

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowAUC counts pairs one by one, by the definition of the area.
func slowAUC(rows []scored) (float64, bool) {
	var wins, pairs float64
	for _, p := range rows {
		for _, q := range rows {
			if p.positive && !q.positive {
				pairs++
				switch {
				case p.z > q.z:
					wins++
				case p.z == q.z:
					wins += 0.5
				}
			}
		}
	}
	return wins / pairs, pairs > 0
}

func drawRows(r *rapid.T) []scored {
	levels := rapid.IntRange(1, 12).Draw(r, "levels") // few levels make ties
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) scored {
		return scored{float64(rapid.IntRange(-levels, levels).Draw(r, "z")) / 4, rapid.Bool().Draw(r, "positive")}
	}), 0, 60).Draw(r, "rows")
}

func TestAUCIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rows := drawRows(r)
		want, wantOK := slowAUC(rows)
		got, ok := auc(slices.Clone(rows))
		// Counts are exact in both; the quotients may round differently.
		if ok != wantOK || ok && !(math.Abs(got-want) <= 1e-15) {
			r.Fatalf("got %v, %v, want %v, %v", got, ok, want, wantOK)
		}
	})
}

func TestAUCInvariances(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rows := drawRows(r)
		area, ok := auc(slices.Clone(rows))
		if !ok {
			return
		}
		mapped := func(f func(scored) scored) float64 {
			list := slices.Clone(rows)
			for i := range list {
				list[i] = f(list[i])
			}
			got, _ := auc(list)
			return got
		}
		same := func(name string, got, want float64) {
			if !(math.Abs(got-want) <= 1e-15) {
				r.Fatalf("%s: got %v, want %v", name, got, want)
			}
		}
		same("increasing map", mapped(func(s scored) scored { return scored{math.Exp(s.z), s.positive} }), area)
		same("scores negated", mapped(func(s scored) scored { return scored{-s.z, s.positive} }), 1-area)
		same("classes swapped", mapped(func(s scored) scored { return scored{s.z, !s.positive} }), 1-area)
		same("constant score", mapped(func(s scored) scored { return scored{1, s.positive} }), 0.5)
		shuffled, _ := auc(rapid.Permutation(rows).Draw(r, "order"))
		same("order", shuffled, area)
		twice, _ := auc(append(slices.Clone(rows), rows...))
		same("every row twice", twice, area)
	})
}
