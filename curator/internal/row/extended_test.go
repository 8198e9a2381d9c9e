package row_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/internal/effects"
)

// effectsOf returns effects of three columns over a layout of dim features, and the number of their features.
func effectsOf(dim int, ratio float64) (e row.Effects, features int) {
	const seed, scale, amplitude = 3, .5, .1
	features = 4
	e = row.Effects{Basis: effects.New(seed, features, []float64{.1, 0, -.2}, scale, amplitude), Ratio: ratio}
	for j := range dim - 1 {
		e.Of, e.Weights = append(e.Of, j*3/dim), append(e.Weights, math.Sin(float64(j)))
	}
	return e, features
}

// extendedOf returns the layout bent with features of effects before the constant.
func extendedOf(t testing.TB, features int) *row.Layout {
	t.Helper()
	l, _ := bent(t)
	var groups []row.Group
	for i := range l.Groups() {
		groups = append(groups, l.Group(i))
	}
	more, err := row.NewHatted(l.Dim()+features, groups, l.Hats())
	if err != nil {
		t.Fatal(err)
	}
	return more
}

// TestExtended: rows with features of effects must be those of the definition, computed from all features of a row in
// their order, over every source of rows, whether the features are kept or computed. All others are multiplied by the
// ratio.
func TestExtended(t *testing.T) {
	for _, ratio := range []float64{1, .5} { // multiplications by either are exact
		extended(t, ratio)
	}
}

// times returns copies of v times a ratio.
func times(v []float32, ratio float64) []float32 {
	v = slices.Clone(v)
	for i := range v {
		v[i] = float32(float64(v[i]) * ratio)
	}
	return v
}

func extended(t *testing.T, ratio float64) {
	t.Helper()
	l, h := bent(t)
	e, features := effectsOf(l.Dim(), ratio)
	more := extendedOf(t, features)
	last := l.Numbers() - 1
	records := func(n int) []rowtest.Record {
		list := bentRecords(l, h, n)
		for i, r := range list {
			sums := make([]float64, 3)
			add := func(feature int, v float32) { sums[e.Of[feature]] += e.Weights[feature] * float64(v) }
			numbers := []int{0, 1, 7, 8, 29}
			for k, v := range r.X[:last] {
				add(numbers[k], v)
			}
			add(5+int(r.In[0]), r.Level)
			for k, at := range r.At { // hats of the layout bent: 2 to 4, 9 to 16 and 17 to 28
				first := []int{2, 9, 17, 17}[k]
				add(first+int(at), r.By[2*k])
				add(first+int(at)+1, r.By[2*k+1])
			}
			found := make([]float32, features)
			e.Basis.Fill(found, features, sums)
			list[i].OK = r.Sound() // before the ratio makes it shorter
			list[i].Of, list[i].X = more, slices.Concat(times(r.X[:last], ratio), found, times(r.X[last:], ratio))
			list[i].Level, list[i].By = float32(float64(r.Level)*ratio), times(r.By, ratio)
		}
		return list
	}
	for name, source := range map[string]rowtest.Make{"memory": rowtest.Table, "part of a file": file(2000, t.TempDir()),
		"file": file(0, t.TempDir()), "gaps": rowtest.Gaps(rowtest.Table)} {
		for _, keep := range []float64{0, .4, 1} {
			t.Run(name, func(t *testing.T) {
				rowtest.RunOf(t, more, records, func(t testing.TB, _ *row.Layout, blockRows int, records []rowtest.Record) row.Source {
					t.Helper()
					plain := slices.Clone(records)
					for i, r := range plain {
						plain[i].Of, plain[i].X = l, times(slices.Concat(r.X[:last], r.X[len(r.X)-1:]), 1/ratio)
						plain[i].Level, plain[i].By = float32(float64(r.Level)/ratio), times(r.By, 1/ratio)
					}
					s, err := row.NewExtended(curvedOver(source, h)(t, l, blockRows, plain), more, e)
					if err == nil && keep > 0 {
						err = s.Keep(int(keep * float64(s.Len())))
					}
					if err != nil {
						t.Fatal(err)
					}
					return s
				})
			})
		}
	}
}

// TestExtendedRowsAreShort: features of effects that would make a row longer than MaxSquare allows are zero, and so
// are those of a faulty row. All other features are multiplied by the ratio.
func TestExtendedRowsAreShort(t *testing.T) {
	base, err := row.NewLayout(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	more, err := row.NewLayout(6, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := row.NewTableOf(base, 2)
	if err != nil {
		t.Fatal(err)
	}
	rows := [][]float32{{.6, .2}, {0, .995}, {.98, .199}, {.5, .5}}
	for i, x := range rows {
		table.Append(x, 1, i != 3)
	}
	const ratio = .999 // too long by intent, for a norm of .141 of the features of effects
	e := row.Effects{Basis: effects.New(1, 4, []float64{0}, 1, .1), Of: []int{0}, Weights: []float64{1}, Ratio: ratio}
	for _, keep := range []float64{0, .4, 1} {
		s, err := row.NewExtended(table, more, e)
		if err == nil && keep > 0 {
			err = s.Keep(int(keep * float64(s.Len())))
		}
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for r, i := s.Reader(), 0; i < s.Blocks(); i++ {
			b, err := r.Block(i)
			if err != nil {
				t.Fatal(err)
			}
			for k, y := range b.Targets {
				x := b.Rows[k*more.Stride() : k*more.Stride()+6]
				square := 0.
				for _, v := range x {
					square += float64(v) * float64(v)
				}
				found := slices.ContainsFunc(x[1:5], func(v float32) bool { return v != 0 })
				if square > row.MaxSquare || found != (at == 0) {
					t.Errorf("row %d, kept %v: squared norm %v, features of effects: %v", at, keep, square, found)
				}
				want := []float32{float32(float64(rows[at][0]) * ratio), float32(float64(rows[at][1]) * ratio)}
				if y != y {
					want = []float32{0, 0}
				}
				if x[0] != want[0] || x[5] != want[1] {
					t.Errorf("row %d: %v: want %v around the features of effects", at, x, want)
				}
				at++
			}
		}
		if at != len(rows) {
			t.Errorf("%d rows", at)
		}
	}
}

// TestExtendedRowsCountTheirGroupsAndHats: the squared norm of a row is that of all its features, its groups' and hats'
// too. Rows are stretched to a squared norm below or above the room that features of effects leave, .98. Those above
// must have none.
func TestExtendedRowsCountTheirGroupsAndHats(t *testing.T) {
	l, h := bent(t)
	e, features := effectsOf(l.Dim(), 1) // two pairs of squared norm .1^2 each
	more := extendedOf(t, features)
	last := l.Numbers() - 1
	short := func(list []float32) (sum float64) {
		for _, v := range list {
			sum += float64(v) * float64(v)
		}
		return sum
	}
	var records []rowtest.Record
	for i, r := range bentRecords(l, h, 200) {
		if !r.Sound() {
			continue
		}
		level := float64(r.Level) * float64(r.Level)
		stretch := float32(math.Sqrt([]float64{.97, .99}[i%2] / (level + short(r.X) + short(r.By))))
		r.Level *= stretch
		for k := range r.X {
			r.X[k] *= stretch
		}
		for k := range r.By {
			r.By[k] *= stretch
		}
		records = append(records, r)
	}
	for _, keep := range []float64{0, .4, 1} {
		s, err := row.NewExtended(curvedOver(rowtest.Table, h)(t, l, 16, records), more, e)
		if err == nil && keep > 0 {
			err = s.Keep(int(keep * float64(s.Len())))
		}
		if err != nil {
			t.Fatal(err)
		}
		at, with := 0, 0
		for reader, i := s.Reader(), 0; i < s.Blocks(); i++ {
			b, err := reader.Block(i)
			if err != nil {
				t.Fatal(err)
			}
			for k := range b.Targets {
				r := records[at]
				square := float64(r.Level)*float64(r.Level) + short(r.X) + short(r.By)
				if short(r.X) > .9 {
					t.Fatalf("row %d: numbers alone have the squared norm %v", at, short(r.X))
				}
				x := b.Rows[k*more.Stride()+last : k*more.Stride()+last+features]
				found := slices.ContainsFunc(x, func(v float32) bool { return v != 0 })
				if found != (square < .98) {
					t.Fatalf("row %d, kept %v: squared norm %v: has features of effects: %v", at, keep, square, found)
				}
				if at++; found {
					with++
				}
			}
		}
		if at != len(records) || with == 0 || with == at {
			t.Errorf("%d of %d rows have features of effects", with, at)
		}
	}
}

// TestExtendedRefuses: effects that are not of the layout, and layouts that are not of the rows, are errors.
func TestExtendedRefuses(t *testing.T) {
	base, _ := row.NewLayout(3, nil)
	table, _ := row.NewTableOf(base, 0)
	good := row.Effects{Basis: effects.New(1, 4, []float64{0}, 1, .1), Of: []int{0, 0}, Weights: []float64{1, 1}, Ratio: .9}
	more, _ := row.NewLayout(7, nil)
	grouped, _ := row.NewLayout(7, []row.Group{{First: 0, Width: 2}})
	if _, err := row.NewExtended(table, more, good); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		l      *row.Layout
		change func(*row.Effects)
	}{
		"groups": {grouped, func(*row.Effects) {}}, "the same rows": {base, func(*row.Effects) {}},
		"no basis": {more, func(e *row.Effects) { e.Basis = nil }},
		"a column": {more, func(e *row.Effects) { e.Of = []int{0, 1} }},
		"weights":  {more, func(e *row.Effects) { e.Weights = e.Weights[:1] }},
		"features": {more, func(e *row.Effects) { e.Of = e.Of[:1] }},
	} {
		e := good
		c.change(&e)
		if _, err := row.NewExtended(table, c.l, e); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
