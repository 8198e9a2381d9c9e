package means_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/means"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestAnswersAreWhatTheyWere compares all answers of models of many targets with testdata/answers.golden, which is written by
// go test ./internal/means -run WhatTheyWere -update.
func TestAnswersAreWhatTheyWere(t *testing.T) {
	number := func(change func(*dataset.Target)) dataset.Target {
		of := dataset.Target{Column: "cost", Kind: dataset.Number, Low: 0, High: 70}
		change(&of)
		return of
	}
	timed := func(grouped string) dataset.Target {
		return number(func(of *dataset.Target) {
			of.Column, of.High, of.Event, of.Cuts, of.Grouped, of.Hazards = "days", 3, "died", []float64{1, 2, 3}, grouped, []float64{.5, .2, .3}
			of.HazardErrors = []float64{.11, .22, .17}
		})
	}
	whole := means.Population{Header: []string{" region", "age", "day"}, Rows: [][]string{{"north", "2", "1"}, {"south", "9.5", "1"},
		{"east", "0", "1"}, {"north", "10", "1"}, {"south", "4.25"}, {"east", "", "1"}, {"north", "7", "1"}, {"north", "abc", "1"}}}
	some := whole
	for i := range 22 {
		some.Rows = append(some.Rows[:len(some.Rows):len(some.Rows)], []string{[]string{"north", "south"}[i%2], fmt.Sprint(.4 * float64(i)), "1"})
	}
	some.Rows = append(some.Rows, []string{"west", "3", "1"}, []string{"west", "8", "1"})
	many := whole
	many.Rows = append(many.Rows[:len(many.Rows):len(many.Rows)], []string{"west", "3", "1"}, []string{"west", "8", "1"})
	people := []means.Population{whole, some, many}
	var got strings.Builder
	for _, c := range []struct {
		name, loss string
		target     dataset.Target
		people     int
		changes    []func(*inference.Fit)
	}{
		{"a probability", "logistic", classes, 0, nil},
		{"a probability, few hidden", "logistic", classes, 1, nil},
		{"a probability, many hidden", "logistic", classes, 2, nil},
		{"a probability that a column carries", "logistic", classes, 1, []func(*inference.Fit){func(f *inference.Fit) {
			f.Absorbed = []inference.Absorbed{{Feature: 4, By: 2, Correlation: -.67, Noise: .05}}
		}}},
		{"a merged reference", "logistic", classes, 1, []func(*inference.Fit){func(f *inference.Fit) { f.Merged = []int{1} }}},
		{"wider", "logistic", classes, 0, []func(*inference.Fit){func(f *inference.Fit) { f.Allowance = .11 }}},
		{"withheld", "logistic", classes, 0, []func(*inference.Fit){func(f *inference.Fit) { f.Allowance = .35 }}},
		{"not identified", "logistic", classes, 0, []func(*inference.Fit){func(f *inference.Fit) {
			f.Method, f.Covariance, f.Sampling = inference.NotIdentified, nil, nil
		}}},
		{"a region", "logistic", classes, 0, []func(*inference.Fit){func(f *inference.Fit) { f.Method = inference.Region }}},
		{"a number", "squared(1)", number(func(of *dataset.Target) { of.Low = -20 }), 1, nil},
		{"a clamped number", "squared(1)", number(func(of *dataset.Target) { of.Low = -20 }), 1, nil},
		{"a count", "poisson(3)", number(func(of *dataset.Target) {}), 1, nil},
		{"a rate", "poisson-rate(3,0.125)", number(func(of *dataset.Target) { of.Exposure = dataset.Exposure{Column: "years", Low: .5, High: 4} }), 1, nil},
		{"an offset", "poisson-rate(3,0.36787944117144233)", number(func(of *dataset.Target) {
			of.Exposure, of.Offset = dataset.Exposure{Column: "log years", Low: 0, High: 1}, true
		}), 1, nil},
		{"a risk", "poisson-rate(3,1.52587890625e-05)", timed(""), 1, nil},
		{"a risk in years", "cloglog(3,1.52587890625e-05)", timed("cloglog"), 0, nil},
		{"a risk by odds", "logit-hazard(3,1.52587890625e-05)", timed("logit"), 1, nil},
	} {
		l, err := loss.Parse(c.loss)
		if err != nil {
			t.Fatal(err)
		}
		clamp = strings.Contains(c.name, "clamped")
		m := withIntervals(t, c.target, l, c.changes...)
		clamp = false
		answers, err := means.Of(t.Context(), m, people[c.people], nil)
		if err != nil {
			fmt.Fprintf(&got, "== %s: %v\n", c.name, err)
			continue
		}
		fmt.Fprintf(&got, "== %s\n%s", c.name, recordedtest.JSON(t, answers))
	}
	recordedtest.Compare(t, "testdata/answers.golden", got.String())
}
