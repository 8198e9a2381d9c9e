package main

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/stillpoint-dp/stillpoint/account"
)

// plotCurve draws the upper end of delta over epsilon, delta on a logarithmic
// scale, from epsilon 0 to where delta is 1e-12.
func plotCurve(ctx context.Context, path string, c *account.Composition) error {
	last, err := c.Epsilon(ctx, 1e-12)
	if err != nil {
		return err
	}
	const points = 60
	var curve plotter.XYs
	for i := range points + 1 {
		epsilon := last.Upper * float64(i) / points
		b, err := c.Delta(ctx, epsilon)
		if err != nil {
			return err
		}
		if b.Upper > 0 {
			curve = append(curve, plotter.XY{X: epsilon, Y: b.Upper})
		}
	}
	if len(curve) < 2 {
		return fmt.Errorf("plot %s: delta is 0 at every epsilon: nothing to draw", path)
	}
	p := plot.New()
	p.Title.Text = "What the releases cost"
	p.X.Label.Text = "epsilon"
	p.Y.Label.Text = "delta (upper end)"
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = plot.TickerFunc(decades)
	p.Y.Min, p.Y.Max = 1e-12, math.Max(curve[0].Y, 1e-11)
	line, err := plotter.NewLine(curve)
	if err != nil {
		return err
	}
	line.Width = vg.Points(1.5)
	p.Add(plotter.NewGrid(), line)
	return p.Save(16*vg.Centimeter, 10*vg.Centimeter, path)
}

// decades marks every power of ten and names every second one.
func decades(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Ceil(math.Log10(lo) - 1e-9); e <= math.Log10(hi)+1e-9; e++ {
		t := plot.Tick{Value: math.Pow(10, e)}
		if math.Mod(e, 2) == 0 {
			t.Label = fmt.Sprintf("1e%.0f", e)
		}
		if e == 0 {
			t.Label = "1"
		}
		ticks = append(ticks, t)
	}
	return ticks
}
