package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account/mechanism"
	"github.com/stillpoint-dp/stillpoint/internal/report"
)

// leastDelta is the delta at which the drawn curve of delta over epsilon ends.
const leastDelta = 1e-12

// checkPicture returns an error if the name of a picture's file has an ending other than .svg, since pictures
// are always SVG. A name without an ending is allowed.
func checkPicture(path string) error {
	if e := filepath.Ext(path); e != "" && !strings.EqualFold(e, ".svg") {
		return fmt.Errorf("--plot %s: is drawn as SVG: the name must end in .svg", path)
	}
	return nil
}

// plotCurve writes an SVG file at path with the upper bound of delta over epsilon, from epsilon 0 to the
// epsilon at which delta is leastDelta. The axis of delta is logarithmic. If delta is 0 at nearly every
// epsilon, plotCurve returns an error.
func plotCurve(ctx context.Context, path string, c *mechanism.Composition) error {
	last, err := c.Epsilon(ctx, leastDelta)
	if err != nil {
		return err
	}
	const points = 60
	curve := report.Series{Name: "upper end", Style: report.Line}
	for i := range points + 1 {
		epsilon := last.Upper * float64(i) / points
		b, err := c.Delta(ctx, epsilon)
		if err != nil {
			return err
		}
		if b.Upper > 0 {
			curve.X, curve.Y = append(curve.X, epsilon), append(curve.Y, b.Upper)
		}
	}
	if len(curve.X) < 2 {
		return fmt.Errorf("plot %s: delta is 0 at every epsilon: nothing to draw", path)
	}
	p := report.Plot{
		Title:   "Cost of the releases",
		Caption: "The releases are (epsilon, delta)-differentially private at every point of the curve and above it.",
		X:       report.Axis{Label: "epsilon"},
		Y:       report.Axis{Label: "delta", Log: true, Min: leastDelta, Max: max(curve.Y[0], 10*leastDelta)},
		Series:  []report.Series{curve},
	}
	return writeFile(path, nil, p.SVG)
}
