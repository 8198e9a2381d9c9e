package audit

import (
	"slices"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// refinement is how records change when a session's schema is refined: row returns a record of dim features, or nil
// for one that is not of the former schema.
type refinement struct {
	dim int
	row func(x []float32) []float32
}

// refinedRow returns how records of a schema change when it is refined to another one, by the definition of features
// that are computed when rows are read: those of curves and surfaces, and of effects. Records of several rows have
// their rows one after the other.
func refinedRow(from, to *dataset.Schema, l loss.Loss) refinement {
	before, after := from.WithoutEffects(), to.WithoutEffects()
	rows := 1
	if u, ok := l.(loss.Units); ok {
		rows = u.Rows()
	}
	dim, wide := before.Dim(), to.Dim()
	return refinement{loss.RecordFeatures(l, wide), func(x []float32) []float32 {
		if len(x) != loss.RecordFeatures(l, dim) {
			return nil
		}
		var all []float32
		for i := range rows {
			row := x[i*dim : (i+1)*dim]
			if before != after {
				row = recurved(before, after, row)
			}
			all = append(all, to.Extended(row)...)
		}
		return append(all, x[rows*dim:]...)
	}}
}

// recurved returns the row x of a schema by a schema with other knots, or without some of the curves. A row that hats
// would make longer than 1 has none, as in a session. The divisor of a schema without curves is smaller.
func recurved(from, to *dataset.Schema, x []float32) []float32 {
	y := make([]float32, to.Dim())
	curves, ratio := to.Hats(), 1.
	if from.Scale() != to.Scale() {
		ratio = from.Scale() / to.Scale() * (1 - 0x1p-22)
	}
	var bareRow []float32
	at := 0
	for _, h := range append(from.Hats(), dataset.Hats{First: len(x)}) {
		bareRow = append(bareRow, x[at:h.First]...)
		at = h.First + h.Width
	}
	for i, j, k := 0, 0, 0; j < len(y); {
		if k < len(curves) && j == curves[k].First {
			j, k = j+curves[k].Width, k+1
			continue
		}
		y[j] = float32(float64(bareRow[i]) * ratio)
		i, j = i+1, j+1
	}
	groups, bare := to.Groups(), slices.Clone(y)
	level := float64(y[len(y)-1])
	for _, h := range curves {
		// at holds the features of hats and by their sizes, for one axis after the other.
		at, by := []int{h.First}, []float64{level}
		known := level > 0
		for a, axis := range h.Axes {
			cell, f := spline.Of(axis.Knots, axis.At).Cell(float64(y[axis.Number]) / level)
			known = known && y[axis.Missing] == 0
			inner := 1
			if a == 0 && len(h.Axes) == 2 {
				inner = h.Axes[1].Knots
			}
			var at2 []int
			var by2 []float64
			for b := range at {
				at2 = append(at2, at[b]+cell*inner, at[b]+(cell+1)*inner)
				by2 = append(by2, by[b]*spline.Scale*(1-f), by[b]*spline.Scale*f)
			}
			at, by = at2, by2
		}
		if !known {
			continue
		}
		shift := 0
		if h.Group >= 0 {
			for c, v := range y[groups[h.Group].First:][:groups[h.Group].Width] {
				if v != 0 {
					shift = c * h.Axes[0].Knots
				}
			}
		}
		for b := range at {
			y[at[b]+shift] = float32(by[b])
		}
	}
	sum := vector.Sum(y, func(v float32) float64 { return float64(v) * float64(v) })
	if !(sum <= dataset.NormBound*dataset.NormBound) {
		return bare
	}
	return y
}
