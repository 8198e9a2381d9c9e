package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// misleading are tables whose pairs of columns hide how the columns act together, so that the metric of the second stage
// is a wrong one: each returns the columns of a row, and its target between 0 and 1. The metric follows from smoothed
// tables of pairs alone.
var misleading = map[string]func(coin *rand.Rand) ([]float64, float64){
	// An orthogonal array of strength 2: each pair of columns is independent, and four columns of five levels have 25 of
	// 625 combinations, each with a target of its own.
	"array": func(coin *rand.Rand) (x []float64, y float64) {
		a, b := coin.IntN(5), coin.IntN(5)
		x = []float64{float64(b) / 4}
		for j := range 3 {
			x = append(x, float64((a+j*b)%5)/4)
		}
		own := float64((5*a + b) * (5*a + b) * 7 % 25)
		return x, .3 + .3*x[1] + .012*own
	},
	"parity": func(coin *rand.Rand) (x []float64, y float64) {
		odd := 0
		for range 5 {
			v := coin.IntN(2)
			odd += v
			x = append(x, float64(v)*.9+.1*coin.Float64())
		}
		return append(x, float64(odd%2)), .3 + .1*x[0] + .1*x[1] + .3*float64(odd/2%2)
	},
	"xor": func(coin *rand.Rand) ([]float64, float64) {
		x := []float64{coin.Float64(), coin.Float64(), coin.Float64()}
		y := .4 + .1*x[2]
		if (x[0] > .5) != (x[1] > .5) {
			y += .3
		}
		return x, y
	},
	// Two far clusters, and within each a curve in five dimensions.
	"clusters": func(coin *rand.Rand) ([]float64, float64) {
		t, at := coin.Float64(), float64(coin.IntN(2))*.8
		u := 2*t - 1
		return []float64{at + .2*t, at + .2*u*u, 1 - at - .2*math.Abs(u), at + .1 + .1*math.Sin(6*t), math.Cos(9*t)/2 + .5},
			.5 + .2*u*(2*at-.8)/.8 + .1*math.Sin(12*t)
	},
}

// TestEffectsEndNotAboveCurves: where the metric of the second stage is wrong, a fit with effects must not end with a
// loss above that of curves with the whole budget, up to noise.
func TestEffectsEndNotAboveCurves(t *testing.T) {
	const n = 6000
	for name, row := range misleading {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "array" {
				t.Skip("one of the tables is enough")
			}
			t.Chdir(t.TempDir())
			var b, keys strings.Builder
			coin := rand.New(rand.NewPCG(11, 12))
			for i := range n {
				x, y := row(coin)
				if i == 0 {
					for j := range x {
						fmt.Fprintf(&b, "x%d,", j)
						fmt.Fprintf(&keys, "    x%d: {number: [0, 1]}\n", j)
					}
					b.WriteString("y\n")
				}
				for _, v := range x {
					fmt.Fprintf(&b, "%.4f,", v)
				}
				fmt.Fprintf(&b, "%.4f\n", min(max(y+.03*coin.NormFloat64(), 0), 1))
			}
			table := write(t, filepath.Join(t.TempDir(), "rows.csv"), b.String())
			loss := map[string]float64{}
			for _, family := range []string{Curves, Interactions} {
				c, err := ReadConfig(write(t, filepath.Join(filepath.Dir(table), family+".yaml"), "data: rows.csv\nschema:\n  columns:\n"+
					keys.String()+"  target: {column: y, number: [0, 1]}\nmodel: {loss: huber(0.1), family: "+family+"}\n"+
					"privacy: {epsilon: 2, delta: 1e-6, relation: replace-one}\n"))
				if err != nil {
					t.Fatal(err)
				}
				f, err := c.Fit(context.Background(), Options{Software: "test"})
				if err != nil {
					t.Fatal(err)
				}
				e, err := f.Model.Evaluate(context.Background(), table, "", "")
				if err != nil {
					t.Fatal(err)
				}
				loss[family] = *e.MAE
			}
			t.Logf("mean absolute errors %v", loss)
			if loss[Interactions] > 1.05*loss[Curves] {
				t.Errorf("mean absolute error %v with effects, %v with curves", loss[Interactions], loss[Curves])
			}
		})
	}
}
