package row_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/internal/spline"
)

// bent returns a layout with a curve between a number and a group, a surface of a group and a number,
// and a surface of two numbers, and the description of the features from which their hats (values of
// basis functions) are computed.
func bent(t testing.TB) (*row.Layout, []row.Hanging) {
	t.Helper()
	l, err := row.NewHatted(31, []row.Group{{First: 5, Width: 2}},
		[]row.Hats{{First: 2, Width: 3, Edges: 1}, {First: 9, Width: 8, Edges: 1}, {First: 17, Width: 12, Edges: 2}})
	if err != nil {
		t.Fatal(err)
	}
	uneven, err := spline.At([]float64{-1, -.5, .75, 1})
	if err != nil {
		t.Fatal(err)
	}
	axis := func(at int, k spline.Knots) row.Axis { return row.Axis{Number: at, Missing: at + 1, Knots: k} }
	return l, []row.Hanging{
		{Axes: []row.Axis{axis(0, spline.Equal(3))}, Group: -1}, {Axes: []row.Axis{axis(7, uneven)}, Group: 0},
		{Axes: []row.Axis{axis(0, spline.Equal(3)), axis(7, uneven)}, Group: -1},
	}
}

// bentRecords returns records of the layout that bent returns, with the hats (values of basis
// functions) that follow from their numbers.
func bentRecords(l *row.Layout, h []row.Hanging, n int) []rowtest.Record {
	coin := rand.New(rand.NewPCG(5, uint64(n)))
	records := make([]rowtest.Record, n)
	for i := range records {
		level := float32(.26 + .02*coin.Float64())
		// The numbers are features 0, 1, 7, 8, 29 and 30.
		r := rowtest.Record{Of: l, X: make([]float32, 6), Level: level, In: []uint32{uint32(coin.IntN(2))},
			Y: float64(2*coin.IntN(2) - 1), OK: i%9 != 4}
		r.X[5] = level
		for k := range 2 {
			if r.X[2*k] = level * float32(2*coin.Float64()-1); coin.IntN(4) == 0 {
				r.X[2*k], r.X[2*k+1] = 0, level
			}
		}
		var cells [2]int
		var shares [2]float64
		for k, a := range []row.Axis{h[0].Axes[0], h[1].Axes[0]} {
			cells[k], shares[k] = a.Knots.Cell(float64(r.X[2*k]) / float64(level))
		}
		known := [2]bool{r.X[1] == 0, r.X[3] == 0}
		r.At, r.By = []uint32{uint32(cells[0]), 4*r.In[0] + uint32(cells[1]), uint32(4*cells[0] + cells[1]),
			uint32(4*cells[0] + 4 + cells[1])}, make([]float32, 8)
		for k := range 2 {
			if known[k] {
				r.By[2*k], r.By[2*k+1] = spline.Curve(level, shares[k])
			}
		}
		if known[0] && known[1] {
			v := spline.Pair(level, shares[0], shares[1])
			copy(r.By[4:], v[:])
		}
		records[i] = r
	}
	return records
}

// curvedOver returns a maker of sources of the layout bent over other sources.
func curvedOver(source rowtest.Make, h []row.Hanging) rowtest.Make {
	return func(t testing.TB, l *row.Layout, blockRows int, records []rowtest.Record) row.Source {
		t.Helper()
		bare, err := l.Bare()
		if err != nil {
			t.Fatal(err)
		}
		s, err := row.NewCurved(source(t, bare, blockRows, records), l, 30, h)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func TestCurved(t *testing.T) {
	l, h := bent(t)
	records := func(n int) []rowtest.Record { return bentRecords(l, h, n) }
	for name, source := range map[string]rowtest.Make{"memory": rowtest.Table, "part of a file": file(2000, t.TempDir()),
		"file": file(0, t.TempDir()), "gaps": rowtest.Gaps(rowtest.Table)} {
		over := curvedOver(source, h)
		t.Run(name, func(t *testing.T) { rowtest.RunOf(t, l, records, over) })
		t.Run(name+", kept", func(t *testing.T) {
			rowtest.RunOf(t, l, records, func(t testing.TB, l *row.Layout, blockRows int, records []rowtest.Record) row.Source {
				s := over(t, l, blockRows, records).(*row.Curved)
				if err := s.Keep(); err != nil {
					t.Fatal(err)
				}
				return s
			})
		})
	}
}

// curved returns rows of one number with its indicator of missing values and three hats, and the
// constant.
func curved(t *testing.T, records ...[]float32) *row.Curved {
	t.Helper()
	l, err := row.NewHatted(6, nil, []row.Hats{{First: 2, Width: 3, Edges: 1}})
	if err != nil {
		t.Fatal(err)
	}
	bare, err := l.Bare()
	if err != nil {
		t.Fatal(err)
	}
	table, err := row.NewTableOf(bare, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range records {
		table.Append(x, 1, x[2] >= 0)
	}
	c, err := row.NewCurved(table, l, 5, []row.Hanging{{Axes: []row.Axis{{Number: 0, Missing: 1, Knots: spline.Equal(3)}},
		Group: -1}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCurvedRowsAreShort tests that no row with hats is longer than MaxSquare allows, whatever the
// underlying source returns. Hats that would make a row longer, as a damaged disk can cause, are
// zero. So are the hats of faulty rows, of missing numbers and of rows without a constant.
func TestCurvedRowsAreShort(t *testing.T) {
	records := [][]float32{{.25, 0, .5}, {0, .5, .5}, {.25, 0, -1}, {0, 0, 1}, {.9, 0, .4}, {.1, 0, 0}, {-.5, 0, .5},
		{-.4, 0, .5}}
	hung := []bool{true, false, false, false, false, false, true, true}
	s := curved(t, records...)
	defer s.Close()
	var all row.Block
	for i := range s.Len() {
		if err := s.Reader().Rows(&all, []int32{int32(i)}); err != nil {
			t.Fatal(err)
		}
	}
	full := make([]float32, s.Len()*s.Layout().Full())
	s.Layout().WriteOut(full, all)
	for i := range records {
		x := full[i*s.Layout().Full():][:6]
		square, hats := 0., 0.
		for j, v := range x {
			square += float64(v) * float64(v)
			if j >= 2 && j < 5 {
				hats += float64(v)
			}
		}
		if square > row.MaxSquare || (hats > 0) != hung[i] {
			t.Errorf("row %v is %v, of squared norm %v", records[i], x, square)
		}
		if want := math.Sqrt2 * .5; hung[i] && !(math.Abs(hats-want) <= 1e-6) {
			t.Errorf("row %v: hats add up to %v: want %v", records[i], hats, want)
		}
	}
	// The value -.4/.5 = -.8 is a fifth of the way from the first knot, -1, to the second knot, 0.
	if x := full[7*s.Layout().Full()+2:]; !(math.Abs(float64(x[0])-.8*math.Sqrt2/2) <= 1e-6) ||
		!(math.Abs(float64(x[1])-.2*math.Sqrt2/2) <= 1e-6) || x[2] != 0 {
		t.Errorf("hats %v", x[:3])
	}
}

// TestCurvedRefuses tests that descriptions of hats (values of curves' basis functions) that do not
// fit the layout are refused.
func TestCurvedRefuses(t *testing.T) {
	l, err := row.NewHatted(6, nil, []row.Hats{{First: 2, Width: 3, Edges: 1}})
	if err != nil {
		t.Fatal(err)
	}
	good := row.Axis{Number: 0, Missing: 1, Knots: spline.Equal(3)}
	for name, h := range map[string][]row.Hanging{
		"none":       nil,
		"two":        {{Axes: []row.Axis{good}, Group: -1}, {Axes: []row.Axis{good}, Group: -1}},
		"two axes":   {{Axes: []row.Axis{good, good}, Group: -1}},
		"a group":    {{Axes: []row.Axis{good}, Group: 0}},
		"a hat":      {{Axes: []row.Axis{{Number: 2, Missing: 1, Knots: spline.Equal(3)}}, Group: -1}},
		"no feature": {{Axes: []row.Axis{{Number: 0, Missing: 6, Knots: spline.Equal(3)}}, Group: -1}},
		"four knots": {{Axes: []row.Axis{{Number: 0, Missing: 1, Knots: spline.Equal(4)}}, Group: -1}},
	} {
		table, err := row.NewTable(3, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := row.NewCurved(table, l, 5, h); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	table, err := row.NewTable(4, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := row.NewCurved(table, l, 5, []row.Hanging{{Axes: []row.Axis{good}, Group: -1}}); err == nil {
		t.Error("accepted rows of another layout")
	}
	for _, bad := range []row.Hats{{First: 2, Width: 1, Edges: 1}, {First: 2, Width: 3, Edges: 2},
		{First: 4, Width: 3, Edges: 1}, {First: 2, Width: 3}, {First: 0, Width: 6, Edges: 1}} {
		if _, err := row.NewHatted(6, nil, []row.Hats{bad}); err == nil {
			t.Errorf("%+v: accepted", bad)
		}
	}
	if _, err := row.NewHatted(9, []row.Group{{First: 1, Width: 3}},
		[]row.Hats{{First: 3, Width: 3, Edges: 1}}); err == nil {
		t.Error("accepted hats over a group")
	}
}
