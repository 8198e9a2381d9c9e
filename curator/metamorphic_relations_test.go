package curator_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/session"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
	"pgregory.net/rapid"
)

var relations = []relation{
	{"columns of the schema permuted", subject{}, columnsPermuted},
	{"columns of the table permuted", subject{rows: true}, headerPermuted},
	{"codes are numbers", subject{rows: true}, codesAreNumbers},
	{"hashes are categories", subject{columns: []dataset.ColumnKind{dataset.Hash, dataset.Category}, rows: true},
		hashesAreCategories},
	{"interactions are categories", subject{crossed: true, rows: true}, interactionsAreCategories},
	{"workers and blocks", subject{}, workersAndBlocks},
	{"files are rows", subject{}, filesAreRows},
	{"rows permuted", subject{}, rowsPermuted},
	{"rows doubled", subject{rows: true}, rowsDoubled},
	{"classes negated", subject{targets: []string{"two"}, losses: losses["two"], rows: true}, classesNegated},
	{"classes rotated", subject{targets: []string{"three"}, losses: []string{"softmax(3)"}}, classesRotated},
	{"weights of one", subject{targets: []string{"two", "three", "number", "count"}, rows: true}, weightsOfOne},
	{"exposures of one", subject{targets: []string{"rate"}}, exposuresOfOne},
	{"units of one row", subject{rows: true}, unitsOfOneRow},
}

// columnsPermuted tests that the order of a schema's columns changes the order of coordinates and
// nothing else.
func columnsPermuted(t rapid.TB, w *world) {
	c, other := w.config(t), w.clone()
	r := rand.New(rand.NewPCG(w.seed, 8))
	shuffle(r, other.def.Columns)
	shuffle(r, other.def.Interactions)
	d := c.Schema.Dim()
	f := frame{place: make([]int, d)}
	after := other.schema(t).Features()
	for j, name := range c.Schema.Features() {
		f.place[j] = slices.Index(after, name)
	}
	moved := other.config(t)
	near(t, w, "columns permuted", f, blocks(c.Loss, d), d,
		without(w.answers(t, c.Loss, f, other.open(moved)), sampled), without(w.answers(t, c.Loss, frame{}, w.open(c)),
			sampled))
}

func shuffle[T any](r *rand.Rand, list []T) {
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// headerPermuted tests that the order of a table's columns does not matter, except for the choice of the
// rows that are kept in a unit with too many rows.
func headerPermuted(t rapid.TB, w *world) {
	other := w.clone()
	order := rand.New(rand.NewPCG(w.seed, 9)).Perm(len(w.header))
	for i, k := range order {
		other.header[i] = w.header[k]
		for j := range w.rows {
			other.rows[j][i] = w.rows[j][k]
		}
	}
	c, moved := w.config(t), other.config(t)
	equal(t, w, "columns of the table permuted", w.answers(t, c.Loss, frame{}, other.open(moved)), w.answers(t, c.Loss,
		frame{}, w.open(c)))
}

// codesAreNumbers tests that rows stored by the codes of their one-hot groups give the same answers
// as rows with a number for each feature.
func codesAreNumbers(t rapid.TB, w *world) {
	c := w.config(t)
	m, err := c.Schema.Bind(w.header)
	if err != nil {
		t.Fatal(err)
	}
	d := m.Dim()
	full := func(watch session.Watcher) (*curator.Session, error) {
		rows, err := row.NewTable(d, 0)
		if err != nil {
			return nil, err
		}
		x := make([]float32, d)
		for _, cells := range w.rows {
			if m.Keep(cells) {
				y, ok := m.Encode(x, cells)
				if t := w.def.Target; ok && t.Event != "" {
					y = targetpair.Times{Cuts: c.Schema.Target().Cuts, Increments: t.Hazards, Grouped: t.Grouped}.Carried(y)
				}
				rows.Append(x, y, ok)
			}
		}
		return curator.OpenOver(rows, c, w.seed, watch)
	}
	near(t, w, "codes as numbers", frame{}, 0, d, w.answers(t, c.Loss, frame{}, full), w.answers(t, c.Loss, frame{},
		w.open(c)))
}

// hashesAreCategories tests that a hashed column gives the same answers as a category whose values
// are the hash's buckets.
func hashesAreCategories(t rapid.TB, w *world) {
	other := w.clone()
	for i, c := range w.def.Columns {
		if c.Kind != dataset.Hash {
			continue
		}
		listed := dataset.Column{Name: c.Name, Kind: dataset.Category}
		for b := range c.Buckets {
			listed.Categories = append(listed.Categories, "bucket "+strconv.Itoa(b))
		}
		other.def.Columns[i] = listed
		at := w.at(c.Name)
		for k, cells := range w.rows {
			if cell := strings.TrimSpace(cells[at]); cell != "" && !slices.Contains(w.def.Missing, cell) {
				other.rows[k][at] = "bucket " + strconv.Itoa(bucket(c, cell))
			}
		}
	}
	w.sameRows(t, other, "hashes as categories")
}

// bucket returns the bucket of a cell, by the documentation of dataset.Hashing.
func bucket(c dataset.Column, cell string) int {
	h := c.Hashing()
	s := h.Salt
	for i, r := range []rune(cell) {
		u := (h.Point*int64(r) + h.Place*int64(i+1) + h.Salt) % h.Prime
		v := u * u % h.Other
		s = (s + v*v%h.Prime) % h.Other
	}
	return int(s * s % h.Prime % int64(c.Buckets))
}

// interactionsAreCategories tests that the interaction of two categories gives the same answers as a
// category whose values are the pairs of their values.
func interactionsAreCategories(t rapid.TB, w *world) {
	w = w.clone()
	w.def.Interactions = slices.DeleteFunc(slices.Clone(w.def.Interactions), func(x dataset.Interaction) bool {
		return w.column(x[0]).Kind != dataset.Category || w.column(x[1]).Kind != dataset.Category
	})
	other := w.clone()
	other.def.Interactions = nil
	for i, crossed := range w.def.Interactions {
		a, b := w.column(crossed[0]), w.column(crossed[1])
		pairs := dataset.Column{Name: "pair" + strconv.Itoa(i), Kind: dataset.Category}
		for _, x := range append(slices.Clone(a.Categories), "else") {
			for _, y := range append(slices.Clone(b.Categories), "else") {
				pairs.Categories = append(pairs.Categories, x+" and "+y)
			}
		}
		last := len(pairs.Categories) - 1
		pairs.Categories = pairs.Categories[:last] // the last is "other"
		other.def.Columns = append(other.def.Columns, pairs)
		other.header = append(other.header, pairs.Name)
		for k, cells := range w.rows {
			other.rows[k] = append(other.rows[k], listed(a, cells[w.at(a.Name)])+" and "+listed(b, cells[w.at(b.Name)]))
		}
	}
	w.sameRows(t, other, "interactions as categories")
}

// listed returns the value for which a cell of a category column counts: the cell itself, or "else" if
// it is not listed.
func listed(c dataset.Column, cell string) string {
	if cell = strings.TrimSpace(cell); slices.Contains(c.Categories, cell) {
		return cell
	}
	return "else"
}

// sameRows fails the test unless a world whose rows are the same numbers has the same answers.
func (w *world) sameRows(t rapid.TB, other *world, what string) {
	c, same := w.config(t), other.config(t)
	equal(t, w, what, w.answers(t, c.Loss, frame{}, other.open(same)), w.answers(t, c.Loss, frame{}, w.open(c)))
}

// workersAndBlocks tests that the number of workers and the size of blocks change no answer.
func workersAndBlocks(t rapid.TB, w *world) {
	c := w.config(t)
	want := w.answers(t, c.Loss, frame{}, w.open(c))
	cuts := []struct{ workers, block int }{{2, 1}, {3, 64}, {1, 65}, {5, 7}}
	cut := cuts[w.seed%uint64(len(cuts))]
	c.Workers, c.BlockRows = cut.workers, cut.block
	equal(t, w, fmt.Sprintf("%d workers, blocks of %d", cut.workers, cut.block), w.answers(t, c.Loss, frame{},
		w.open(c)), want)
}

// rowsPermuted tests that the order of rows, also within a unit, affects which rows are drawn and
// nothing else.
func rowsPermuted(t rapid.TB, w *world) {
	other := w.clone()
	shuffle(rand.New(rand.NewPCG(w.seed, 10)), other.rows)
	c, moved := w.config(t), other.config(t)
	equal(t, w, "rows permuted", without(w.answers(t, c.Loss, frame{}, other.open(moved)), drawn), without(w.answers(t,
		c.Loss, frame{}, w.open(c)), drawn))
}

// rowsDoubled tests that a table with every row twice has twice the sum. The grid is the same only if
// the number of records is not public.
func rowsDoubled(t rapid.TB, w *world) {
	other := w.clone()
	w = w.clone()
	w.relation, other.relation = account.AddOrRemove, account.AddOrRemove
	other.rows = append(other.rows, w.clone().rows...)
	c, twice := w.config(t), other.config(t)
	want := without(w.answers(t, c.Loss, frame{}, w.open(c)), drawn)
	got := without(w.answers(t, c.Loss, frame{}, other.open(twice)), drawn)
	for i := range want {
		for j := range want[i].Exact {
			want[i].Exact[j] *= 2
		}
		got[i].Scores, want[i].Scores = nil, nil // norms are not linear in the sum
	}
	equal(t, w, "rows doubled", got, want)
}

// weighted is a loss with weights of records, as loss.NewWeighted makes it.
type weighted interface {
	Unweighted() loss.Loss
	Weights() loss.Weights
}

// classesNegated tests that, if the two classes are exchanged and points are negated, gradients are
// negated and values stay the same.
func classesNegated(t rapid.TB, w *world) {
	other := w.clone()
	slices.Reverse(other.def.Target.Classes)
	c, turned := w.config(t), other.config(t)
	if by, ok := w.loss.(weighted); ok {
		weights := by.Weights()
		slices.Reverse(weights.Classes)
		l, err := loss.NewWeighted(by.Unweighted(), weights)
		if err != nil {
			t.Fatal(err)
		}
		other.loss = l
		turned = other.config(t)
	}
	d := c.Schema.Dim()
	f := frame{place: identity(d), sign: -1}
	want, got := w.answers(t, c.Loss, frame{}, w.open(c)), w.answers(t, turned.Loss, f, other.open(turned))
	near(t, w, "classes negated", f, 1, d, without(got, sampled), without(want, sampled))
}

func identity(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// classesRotated tests that softmax has a run of parameters for each class, in the order of the
// classes: if the classes are listed in another order, the runs of the answers are.
func classesRotated(t rapid.TB, w *world) {
	other := w.clone()
	classes := w.def.Target.Classes
	other.def.Target.Classes = append(slices.Clone(classes[1:]), classes[0])
	if by, ok := w.loss.(weighted); ok {
		weights := by.Weights()
		if len(weights.Classes) > 0 {
			weights.Classes = append(slices.Clone(weights.Classes[1:]), weights.Classes[0])
		}
		l, err := loss.NewWeighted(by.Unweighted(), weights)
		if err != nil {
			t.Fatal(err)
		}
		other.loss = l
	}
	c, turned := w.config(t), other.config(t)
	d := c.Schema.Dim()
	f := frame{place: identity(d), run: []int{2, 0, 1}}
	want, got := w.answers(t, c.Loss, frame{}, w.open(c)), w.answers(t, turned.Loss, f, other.open(turned))
	near(t, w, "classes rotated", f, 3, d, without(got, sampled), without(want, sampled))
}

// weightsOfOne tests that a weight of 1 for every row is the same as no weights.
func weightsOfOne(t rapid.TB, w *world) {
	if w.def.Target.Weight != "" {
		return
	}
	other := w.clone()
	other.def.Target.Weight = weight
	other.header = append(other.header, weight)
	for i := range other.rows {
		other.rows[i] = append(other.rows[i], []string{"1", "1.0", " 1 ", "7"}[i%4])
	}
	by := loss.Weights{Row: true}
	if l, ok := w.loss.(weighted); ok {
		by.Classes = l.Weights().Classes
	}
	of := w.loss
	if l, ok := of.(weighted); ok {
		of = l.Unweighted()
	}
	if n := of.Name(); strings.Contains(n, "weighted") {
		return // the clip of a weighted network is below its own
	}
	l, err := loss.NewWeighted(of, by)
	if err != nil {
		t.Fatal(err)
	}
	other.loss = l
	c, weighed := w.config(t), other.config(t)
	// Losses with weights refuse this query.
	envelope := func(a answer) bool { return a.name == "by an envelope" }
	got, want := w.answers(t, c.Loss, frame{}, other.open(weighed)), w.answers(t, c.Loss, frame{}, w.open(c))
	equal(t, w, "weights of one", without(got, envelope), without(want, envelope))
}

// exposuresOfOne tests that counts with the largest exposure give the same answers as counts without
// exposures.
func exposuresOfOne(t rapid.TB, w *world) {
	w = w.clone()
	for i := range w.rows {
		w.rows[i][w.at(exposure)] = []string{"2", "2.0", "1e9"}[i%3]
	}
	other := w.clone()
	other.def.Target.Exposure = dataset.Exposure{}
	other.def.Columns = append(other.def.Columns, dataset.Column{Name: exposure, Kind: dataset.Ignore})
	name := strings.Replace(w.loss.Name(), "-rate(", "(", 1)
	other.loss = named(t, name[:strings.LastIndex(name, ",")]+")")
	c, counts := w.config(t), other.config(t)
	d := c.Schema.Dim()
	near(t, w, "exposures of one", frame{}, 0, d, w.answers(t, c.Loss, frame{}, other.open(counts)), w.answers(t,
		c.Loss, frame{}, w.open(c)))
}

// unitsOfOneRow tests that, if every unit has one row, a record is a row, and the sums are equal for
// queries without a clip. With a clip they differ, since it limits the slope of a row but the
// gradient of a unit.
func unitsOfOneRow(t rapid.TB, w *world) {
	other := w.clone()
	other.def.Unit = dataset.Unit{Column: person, Rows: 1}
	other.header = append(other.header, person)
	for i := range other.rows {
		other.rows[i] = append(other.rows[i], "p"+strconv.Itoa(i))
	}
	c, units := w.config(t), other.config(t)
	want, got := w.answers(t, c.Loss, frame{}, w.open(c)), w.answers(t, units.Loss, frame{}, other.open(units))
	loose := func(a answer) bool { return !a.loose || drawn(a) }
	got, want = without(got, loose), without(want, loose)
	for i := range want {
		g, v := got[i], want[i]
		if (g.err == nil) != (v.err == nil) {
			t.Fatalf("units of one row: %s: %v: must be %v\n%v", v.name, g.err, v.err, w)
		}
		within := v.rounding(len(w.rows), c.Schema.Dim())
		for j := range v.Exact {
			a, b := float64(g.Exact[j])/g.Scale, float64(v.Exact[j])/v.Scale
			if !(abs(a-b)*v.Scale <= within) {
				t.Fatalf("units of one row: %s: coordinate %d is %v: must be %v, up to %v\n%v", v.name, j, a, b, within/v.Scale, w)
			}
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }
