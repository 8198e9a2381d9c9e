package train

import (
	"maps"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestFitsMakeThePlannedQueries tests that the ledger of a fit has as many queries of each kind as the estimate of its
// time counts: the run's, those of the comparison with the constant and of the measurement, and of both stages of a
// fit with features of effects. The algorithms are those that make a number of queries that is known before the run
// (package audit tests all).
func TestFitsMakeThePlannedQueries(t *testing.T) {
	for what, changes := range map[string][]string{
		"plain":        {"replace-one}", "replace-one}\ntrain: {algorithm: gd, steps: 5, compare: 0.1, measure: 0.1}"},
		"in a metric":  {"replace-one}", "replace-one}\ntrain: {algorithm: preconditioned, compare: 0.1}"},
		"smoothed":     {"logistic", "hinge", "replace-one}", "replace-one}\ntrain: {algorithm: smoothed, compare: off}"},
		"with effects": {"logistic}", "logistic, features: effects}"},
		"intervals":    {"replace-one}", "replace-one}\ninference: {level: 0.9}"},
		"ranks": {"age: {number: [0, 100]}", "age: {number: [0, 100], curve: auto}",
			"replace-one}", "replace-one}\ntrain: {algorithm: preconditioned, ranks: 0.05}"},
	} {
		fit, err := config(t, 2000, append(changes, "epsilon: 1,", "epsilon: 8,")...).Fit(t.Context(), Options{Software: "test 1"})
		if err != nil {
			t.Fatal(what, err)
		}
		planned, made := map[string]float64{}, map[string]float64{}
		for _, s := range fit.costs.stages {
			for k, l := range s.work.Kinds {
				planned[k.String()] += l.Queries
			}
		}
		for _, e := range fit.Ledger.Events() {
			made[e.Question]++
		}
		if what == "intervals" { // asked only if a row can have a weight below 1, which these rows cannot
			delete(planned, query.WeightedMoment.String())
		}
		if !maps.Equal(planned, made) {
			t.Errorf("%s: made %v, planned %v", what, made, planned)
		}
	}
}

// TestWorkOfKindsIsUsual: the usual time of a row must be given for every kind, for use where a kind was not
// measured.
func TestWorkOfKindsIsUsual(t *testing.T) {
	s := stage{features: 3, weights: 6, pace: curator.Pace{query.Value: 7}}
	for _, k := range query.Kinds() {
		if got := s.perRow(k); !(got > 0) || (got == 7) != (k == query.Value) {
			t.Errorf("%v: %v ns", k, got)
		}
	}
}
