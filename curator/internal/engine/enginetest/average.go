package enginetest

import (
	"math"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// together is the number of iterates of a pass that are added up separately, before their sum is added to the sum of
// the earlier iterates. Addition of floats is not associative, so this number is part of the definition of the average.
const together = 64

// average returns the expected result of a pass of SGD over the records: the average of its iterates
// minus the start, in grid steps.
func average(l loss.RankOne, p query.Pass, scale float64, records []rowtest.Record) []int64 {
	dim := len(p.Start)
	at, sum, part := make([]float64, dim), make([]float64, dim), make([]float64, dim)
	copy(at, p.Start)
	for i, r := range records {
		for j, v := range at {
			part[j] += v
		}
		if last := i == len(records)-1; last || i%together == together-1 {
			for j, v := range part {
				sum[j] += v
			}
			clear(part)
		}
		if i < len(records)-1 {
			step(at, l, p, r)
		}
	}
	answer := make([]int64, dim)
	for j := range answer {
		mean := sum[j] / float64(len(records))
		answer[j] = nearest(float64((mean - p.Start[j]) * scale))
	}
	return answer
}

// step moves the point stored in at by one record's step of SGD and projects it to the ball. The
// slope is 0 for an invalid (faulty) record, and for a record whose target the loss does not accept.
func step(at []float64, l loss.RankOne, p query.Pass, r rowtest.Record) {
	x, slope := make([]float32, len(at)), 0.
	meant := r.Y == 1 || r.Y == -1 || l.Target() == loss.Real && math.Abs(r.Y) <= 1
	if r.Sound() {
		copy(x, r.Full())
		if s := scalar(l.Slopes, inner(at, x), r.Y); meant && s == s {
			slope = clamp(s, -p.Clip, p.Clip)
		}
	}
	c := float64(p.Gain() * slope)
	centre := make([]float64, len(at))
	copy(centre, p.Centre)
	shift := make([]float64, len(at))
	for j, v := range p.Linear {
		shift[j] = float64(p.Step * v)
	}
	keep := 1 - float64(p.Step*p.Lambda)
	var squares [4]float64
	for j := range at {
		at[j] = float64(float64(keep*at[j])+shift[j]) - float64(c*float64(x[j]))
		off := at[j] - centre[j]
		squares[j%4] += float64(off * off)
	}
	norm := math.Sqrt((squares[0] + squares[2]) + (squares[1] + squares[3]))
	if p.Radius > 0 && norm > p.Radius {
		for j := range at {
			at[j] = centre[j] + float64((at[j]-centre[j])*(p.Radius/norm))
		}
	}
}
