package runrecord

import (
	"math"
	"reflect"
	"testing"
)

// response runs the steps of two runs on a flat loss, of which the second begins at the result of the first, and
// returns how far the result moves if the release of one step, counted through both, is moved by 1.
func response(first, second Trace, step int) float64 {
	result, before := 0., 0
	for _, l := range []Trace{first, second} {
		T := l.Steps()
		y, estimates := result, make([]float64, T)
		weights := l.Weights
		if weights == nil {
			weights = make([]float64, T+1)
			weights[T] = 1
		}
		average := weights[0] * y
		for t := range T {
			if before+t == step {
				estimates[t] = 1
			}
			if from := t - column(l.Back, t, 1); from >= 0 {
				estimates[t] += column(l.Keep, t, 0) * estimates[from]
			}
			y -= column(l.StepSizes, t, 0) * estimates[t]
			average += weights[t+1] * y
		}
		result, before = average, before+T
	}
	return math.Abs(result)
}

// TestThenIsOneRunAfterAnother tests the noise of a run that begins at the result of another: each release's part is
// that of a simulation of both, and the standard deviations of the two rounds are added.
func TestThenIsOneRunAfterAnother(t *testing.T) {
	averaged := Trace{Noise: []float64{.1, .2, .3, .4}, StepSizes: []float64{.5, .7, .9, 1.1}, Keep: []float64{0, .8, .6, .9},
		Back: []int{1, 1, 2, 1}, Weights: []float64{.1, .15, .2, .25, .3}}
	last := Trace{Noise: []float64{.05}, StepSizes: []float64{.3}, Keep: []float64{0, .4, 0}}
	for _, c := range []struct{ first, second Trace }{{averaged, last}, {last, averaged}, {averaged, averaged}, {last, last}} {
		A, B := c.first.Steps(), c.second.Steps()
		var rounds [2]float64
		for step := range A + B {
			of, at, round := c.first, step, 0
			if step >= A {
				of, at, round = c.second, step-A, 1
			}
			noise := column(of.Noise, at, 0)
			rounds[round] += math.Pow(noise*response(c.first, c.second, step), 2)
		}
		want := math.Sqrt(rounds[0]) + math.Sqrt(rounds[1])
		joined := c.first.Then(c.second)
		if !(math.Abs(joined.WeightNoise-want) <= 1e-12*want) {
			t.Errorf("%+v: noise %v: must be %v", joined, joined.WeightNoise, want)
		}
		if joined.Steps() != A+B || !reflect.DeepEqual(joined.Rounds, []int{A, A + B}) || joined.Exact() {
			t.Errorf("%+v: must have %d and %d steps", joined, A, B)
		}
	}
}

// TestThenKeepsWhatBoundsNoise tests the facts of either run that the noise of both depends on.
func TestThenKeepsWhatBoundsNoise(t *testing.T) {
	plain := Trace{Noise: []float64{.1, .2}, StepSizes: []float64{.5, .25}}
	started, chosen, moving, mute := plain, plain, plain, plain
	started.Start, chosen.Chosen, moving.Move, mute.Unstated = .75, 5, .125, true
	if got := started.Then(plain).Start; got != .75 {
		t.Errorf("start %v: must be that of the first run", got)
	}
	if got := plain.Then(started).Start; got != 0 {
		t.Errorf("start %v: must be that of the first run", got)
	}
	if got := plain.Then(chosen).Chosen; got != 5 {
		t.Errorf("chosen among %d: must be the number of the second run", got)
	}
	large := moving
	large.Move = .5
	for _, both := range [][2]Trace{{moving, plain}, {plain, moving}, {moving, moving}} {
		if got := both[0].Then(both[1]); got.Move != .125 || got.WeightNoise != 4*.125 {
			t.Errorf("move %v, noise %v: must be .125 for each of 4 steps", got.Move, got.WeightNoise)
		}
	}
	if got := moving.Then(large).Move; got != .5 {
		t.Errorf("move %v: must be the larger", got)
	}
	for _, both := range [][2]Trace{{mute, plain}, {plain, mute}} {
		if got := both[0].Then(both[1]); !got.Unstated || got.WeightNoise != 0 {
			t.Errorf("%+v: must state no noise", got)
		}
	}
	if got := plain.Then(plain); got.Unstated || got.Chosen != 0 || got.Move != 0 {
		t.Errorf("%+v", got)
	}
	scaled := plain.WithScales([]float64{2, 3})
	if !reflect.DeepEqual(scaled.Scales, []float64{2, 3}) || plain.Scales != nil {
		t.Errorf("%v, %v", scaled.Scales, plain.Scales)
	}
	// A choice among c points of a run multiplies the noise of the last iterate by sqrt(2 (log(2c) + 1)).
	averaged := Trace{Noise: []float64{.1}, StepSizes: []float64{.5, .25}, Weights: []float64{.5, .25, .25}}
	end := .1 * math.Hypot(.5, .25)
	for count, among := range map[int]int{3: 3, 9: 9} {
		got := averaged.ChosenAmong(count)
		if want := end * math.Sqrt(2*(math.Log(2*float64(among))+1)); got.Chosen != among || got.Weights != nil ||
			!(math.Abs(got.WeightNoise-want) <= 1e-12) {
			t.Errorf("among %d: %+v: noise must be %v", count, got, want)
		}
	}
	if got := chosen.ChosenAmong(3).Chosen; got != 5 {
		t.Errorf("among %d: must be at least those of the run", got)
	}
}
