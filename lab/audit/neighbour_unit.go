package audit

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// A record may consist of all rows of a unit (a person). In a neighbouring table, the unit's rows are
// replaced by any other rows, in any number that is allowed. The candidates in this file are whole units.

// joined returns one candidate record: the unit that consists of the given rows. why describes the unit.
func joined(u loss.Units, rows []candidate, why string) candidate {
	var x [][]float32
	var y []float64
	for _, r := range rows {
		x, y = append(x, r.Row), append(y, r.Target)
	}
	row, n := loss.JoinRows(u, x, y)
	return candidate{Record{row, n}, why}
}

// randomUnit returns an ordinary unit as a candidate record. It has a random number of random rows, from 1
// to the largest number that a unit may have.
func randomUnit(r *rand.Rand, dim int, u loss.Units) candidate {
	rows := make([]candidate, 1+r.IntN(u.Rows()))
	for i := range rows {
		rows[i] = random(r, loss.RowFeatures(u, dim), u.Row())
	}
	return joined(u, rows, "random rows")
}

// worstUnits returns units whose rows are all equal. The row is one of the rows that [worst] returns for
// the given terms, which move the answer most. Each such row gives two units: one with the largest number
// of rows, and one with a single row.
func worstUnits(r *rand.Rand, u loss.Units, dim int, terms []query.Term) []candidate {
	var list []candidate
	for _, c := range worst(r, u.Row(), loss.RowFeatures(u, dim), terms) {
		all := make([]candidate, u.Rows())
		for i := range all {
			all[i] = c
		}
		list = append(list, joined(u, all, c.Why+", in all rows"), joined(u, all[:1], c.Why+", in the only row"))
	}
	return list
}

// blank returns a record with the largest number of rows. The rows have zero features and valid targets.
// For a loss whose records are single rows, blank returns a row of zeros with target 0.
func blank(dim int, l loss.Loss) candidate {
	u, ok := l.(loss.Units)
	if !ok {
		return candidate{Record: Record{Row: make([]float32, dim)}}
	}
	rows := make([]candidate, u.Rows())
	for i := range rows {
		of := targets(u.Row())
		rows[i] = candidate{Record: Record{make([]float32, loss.RowFeatures(u, dim)), of[i*(len(of)-1)%len(of)]}}
	}
	return joined(u, rows, "")
}

// climbedUnit returns the unit that v describes, the vector that the search varies. v gives the features.
// The unit before the change, the parameter was, gives the number of rows and their targets. A faulty unit
// is returned unchanged.
func climbedUnit(v []float64, was candidate, u loss.Units) candidate {
	for _, x := range was.vector() {
		if math.IsNaN(x) || math.Abs(x) > float64(2+u.Rows()) {
			return was
		}
	}
	row := narrow(v[:len(v)-1])
	features := loss.RowFeatures(u, len(row)) * u.Rows()
	copy(row[features:], was.Row[features:])
	return candidate{Record{row, was.Target}, was.Why + ", climbed"}
}

// grouped joins rows of the table to a new table of n units. Each unit gets a random number of rows, from 1
// to the largest number that the loss allows. Unit i takes them from row i u.Rows() on, and rows that no
// unit takes are left out.
func (t Table) grouped(u loss.Units, n int, seed uint64) Table {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	var people Table
	for i := range n {
		rows := make([]candidate, 1+r.IntN(u.Rows()))
		for j := range rows {
			rows[j] = candidate{Record: t.Record(i*u.Rows() + j)}
		}
		people = people.And(joined(u, rows, "").Record)
	}
	return people
}

func scaled(v []float64, f float64) []float64 {
	return vector.Map(v, func(x float64) float64 { return f * x })
}

func plus(a, b []float64) []float64 {
	out := slices.Clone(a)
	vector.Add(out, 1, b)
	return out
}

func minus(a, b []float64) []float64 { return plus(a, scaled(b, -1)) }

// unit returns v scaled to length 1, and the length of v. A zero vector stays zero.
func unit(v []float64) ([]float64, float64) {
	var length float64
	for _, x := range v {
		length = math.Hypot(length, x)
	}
	if !(length > 0) {
		return make([]float64, len(v)), 0
	}
	return scaled(v, 1/length), length
}

// direction returns a random point, uniformly distributed on the unit sphere.
func direction(r *rand.Rand, dim int) []float64 {
	v := make([]float64, dim)
	for j := range v {
		v[j] = r.NormFloat64()
	}
	u, _ := unit(v)
	return u
}

// across returns a random unit vector orthogonal to the unit vector u, or zero in one dimension.
func across(r *rand.Rand, u []float64) []float64 {
	v := direction(r, len(u))
	out, rest := unit(minus(v, scaled(u, vector.Dot(u, v))))
	if rest < 1e-9 {
		return make([]float64, len(u))
	}
	return out
}

// narrow rounds a row of features to float32. A row longer than 1 is first scaled to length 1 - 2^-24.
func narrow(v []float64) []float32 {
	if _, length := unit(v); length > 1 {
		v = scaled(v, (1-0x1p-24)/length)
	}
	return float32s(v)
}

func float32s(v []float64) []float32 {
	return vector.Map(v, func(x float64) float32 { return float32(x) })
}
