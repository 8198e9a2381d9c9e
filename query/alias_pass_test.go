package query_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/query"
)

// TestAPassSharesNothing: later writes to the caller's slices must not change a pass, and its getters must
// return copies.
func TestAPassSharesNothing(t *testing.T) {
	p := query.Pass{Start: []float64{1, 2}, Step: .1, Clip: 1, Lambda: .5, Linear: []float64{3, 4}, Radius: 9,
		Centre: []float64{5, 6}}
	q, err := query.NewStable(1, query.NewCohort(1, 10), p)
	if err != nil {
		t.Fatal(err)
	}
	fields := 0
	for i := range reflect.TypeFor[query.Pass]().NumField() {
		slice := func(p query.Pass) []float64 {
			s, _ := reflect.ValueOf(p).Field(i).Interface().([]float64)
			return s
		}
		if slice(p) == nil {
			continue
		}
		fields++
		was := slices.Clone(slice(p))
		slice(p)[0] = 77
		slice(q.Pass())[1] = 78
		if got := slice(q.Pass()); !slices.Equal(got, was) {
			t.Errorf("%s: %v was asked, and is %v", reflect.TypeFor[query.Pass]().Field(i).Name, was, got)
		}
	}
	if fields != 3 {
		t.Errorf("%d slices were looked at", fields)
	}
}
