package dataset

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// away is a schema with bounds away from 0, of both signs; a transform from a bound above 0 and one
// from below it; and categories of one and of several values.
const away = `
schema:
  columns:
    age: {number: [17, 90]}
    level: {number: [-5, 3]}
    debt: {number: [-1e6, -10]}
    pay: {number: [12, 99999], transform: log1p}
    change: {number: [-0.75, 40], transform: log1p}
    job: {category: [nurse, clerk, cook]}
    sole: {category: [x]}
    split: {public: [train, test]}
    id: ignore
  target: {column: y, number: [-60, 240]}
  missing: ["", "?", "-9"]
`

var awayHeader = []string{"id", "job", "pay", "y", "age", "split", "level", "sole", "change", "debt"}

// awayRow draws a record: cells within bounds, on them, beyond them, missing, unlisted and
// unreadable.
func awayRow(r *rand.Rand) []string {
	number := func(low, high float64) string {
		switch r.IntN(12) {
		case 0:
			return showFloat(low)
		case 1:
			return showFloat(high)
		case 2:
			return showFloat(low - 1 - 100*r.Float64())
		case 3:
			return showFloat(high + 1 + 100*r.Float64())
		case 4:
			return []string{"", "?", "-9", "NaN", "n/a", "1,5", "1e999", "-Inf", "0"}[r.IntN(9)]
		}
		return " " + showFloat(low+(high-low)*r.Float64())
	}
	word := func(of ...string) string { return append(of, "", "?", "other", "Nurse")[r.IntN(len(of)+4)] }
	row := []string{
		fmt.Sprint(r.Int()), word("nurse", "clerk", " cook "), number(12, 99999), number(-60, 240), number(17, 90),
		word("train", "test"), number(-5, 3), word("x"), number(-.75, 40), number(-1e6, -10),
	}
	if r.IntN(20) == 0 {
		return row[:r.IntN(len(row))]
	}
	return row
}

type encoded struct {
	bits   []uint32
	target uint64
	ok     bool
}

func encode(m *Map, cells []string) encoded {
	row := make([]float32, m.Dim())
	y, ok := m.Encode(row, cells)
	e := encoded{target: math.Float64bits(y), ok: ok}
	for _, v := range row {
		e.bits = append(e.bits, math.Float32bits(v))
	}
	return e
}

func (e encoded) equal(o encoded) bool {
	return e.target == o.target && e.ok == o.ok && slices.Equal(e.bits, o.bits)
}

// TestEncodeKeepsNoState tests that a row's encoding depends on its own cells only: it has the same
// bits alone, in any order, after any other rows, repeated, and concurrently with others. An
// encoder that keeps a minimum, a mean, a list of values or a count would differ.
func TestEncodeKeepsNoState(t *testing.T) {
	s := mustLoad(t, away)
	r := rand.New(rand.NewPCG(11, 13))
	rows := make([][]string, 1500)
	alone := make([]encoded, len(rows))
	for i := range rows {
		rows[i] = awayRow(r)
		alone[i] = encode(mustBind(t, s, awayHeader...), rows[i])
	}
	check := func(name string, m *Map, order []int) {
		for _, i := range order {
			m.Keep(rows[i])
			if got := encode(m, rows[i]); !got.equal(alone[i]) {
				t.Errorf("%s: row %q differs from its encoding alone", name, rows[i])
				return
			}
		}
	}
	forward := make([]int, len(rows))
	for i := range forward {
		forward[i] = i
	}
	backward := slices.Clone(forward)
	slices.Reverse(backward)
	shared := mustBind(t, s, awayHeader...)
	check("forward", shared, forward)
	check("backward", shared, backward)
	check("backward, afresh", mustBind(t, s, awayHeader...), backward)
	for range 3 {
		check("permuted", mustBind(t, s, awayHeader...), r.Perm(len(rows)))
	}
	var all sync.WaitGroup
	for range 4 {
		order := r.Perm(len(rows))
		all.Go(func() { check("at the same time", shared, order) })
	}
	all.Wait()
}

// TestEncodeIsTheDocumentedMap tests Encode against a second implementation of the package
// comment's map, in 300 bits: rows and targets agree to the rounding of float32, for any bounds.
func TestEncodeIsTheDocumentedMap(t *testing.T) {
	m := mustBind(t, mustLoad(t, away), awayHeader...)
	r := rand.New(rand.NewPCG(17, 19))
	at := func(name string) int { return slices.Index(awayHeader, name) }
	valid := 0
	for range 500 {
		cells := awayRow(r)
		row := make([]float32, m.Dim())
		y, ok := m.Encode(row, cells)
		if len(cells) != len(awayHeader) {
			if ok || y != 0 || slices.ContainsFunc(row, func(v float32) bool { return v != 0 }) {
				t.Fatalf("%q: %v, %v, %v", cells, row, y, ok)
			}
			continue
		}
		target, present := documentedUnit(cells[at("y")], -60, 240, false)
		if ok != present || !(math.Abs(y-target) <= 1e-12) {
			t.Fatalf("target %q: %v, %v: want %v, %v", cells[at("y")], y, ok, target, present)
		}
		if !ok {
			if slices.ContainsFunc(row, func(v float32) bool { return v != 0 }) {
				t.Fatalf("%q: a row without a target must be zero", cells)
			}
			continue
		}
		valid++
		var want []float64
		number := func(name string, low, high float64, log bool) {
			u, _ := documentedUnit(cells[at(name)], low, high, log)
			want = append(want, u)
		}
		number("age", 17, 90, false)
		number("level", -5, 3, false)
		number("debt", -1e6, -10, false)
		number("pay", 12, 99999, true)
		number("change", -.75, 40, true)
		want = append(want, documentedHot(cells[at("job")], "nurse", "clerk", "cook")...)
		want = append(want, documentedHot(cells[at("sole")], "x")...)
		want = append(want, 1)
		for j, v := range want {
			// Five numbers, two categories, the intercept: S = sqrt 8.
			if v /= math.Sqrt(8); !(math.Abs(float64(row[j])-v) <= 0x1p-23*max(math.Abs(v), 0x1p-20)) {
				t.Fatalf("%q: feature %d = %v: want %v", cells, j, row[j], v)
			}
		}
	}
	if valid < 350 {
		t.Errorf("only %d rows with a target", valid)
	}
}

// documentedUnit implements step 2 of the row map in the package comment: 2 (t-lo)/(hi-lo) - 1 of a
// clamped cell, 0 for a missing one.
func documentedUnit(cell string, low, high float64, log bool) (u float64, present bool) {
	for len(cell) > 0 && cell[0] == ' ' {
		cell = cell[1:]
	}
	if cell == "" || cell == "?" || cell == "-9" || cell == "NaN" {
		return 0, false
	}
	x, _, err := big.ParseFloat(cell, 10, 300, big.ToNearestEven)
	switch {
	case cell == "-Inf":
		x = big.NewFloat(low)
	case err != nil:
		return 0, false
	}
	lo, hi := new(big.Float).SetPrec(300).SetFloat64(low), new(big.Float).SetPrec(300).SetFloat64(high)
	if x.Cmp(lo) < 0 {
		x = lo
	}
	if x.Cmp(hi) > 0 {
		x = hi
	}
	if log {
		x, lo, hi = documentedLog(x), documentedLog(lo), documentedLog(hi)
	}
	q := new(big.Float).SetPrec(300).Quo(new(big.Float).Sub(x, lo), new(big.Float).Sub(hi, lo))
	u, _ = q.Sub(q.Add(q, q), big.NewFloat(1)).Float64()
	return u, true
}

// documentedLog computes log(1+x) by 60 square roots: log v = 2^k log(v^(2^-k)), and then
// log(1+e) = e - e^2/2 + e^3/3.
func documentedLog(x *big.Float) *big.Float {
	const halvings = 60
	v := new(big.Float).SetPrec(600).Add(x, big.NewFloat(1))
	for range halvings {
		v.Sqrt(v)
	}
	e := new(big.Float).SetPrec(600).Sub(v, big.NewFloat(1))
	e2 := new(big.Float).SetPrec(600).Mul(e, e)
	e3 := new(big.Float).SetPrec(600).Mul(e2, e)
	sum := new(big.Float).SetPrec(600).Sub(e, e2.Quo(e2, big.NewFloat(2)))
	sum.Add(sum, e3.Quo(e3, big.NewFloat(3)))
	return sum.SetMantExp(sum, halvings)
}

// documentedHot implements step 3 of the row map in the package comment: one feature for each listed
// value, and a last one for all other cells.
func documentedHot(cell string, listed ...string) []float64 {
	hot := make([]float64, len(listed)+1)
	for i, v := range listed {
		if cell == v || cell == " "+v+" " {
			hot[i] = 1
			return hot
		}
	}
	hot[len(listed)] = 1
	return hot
}
