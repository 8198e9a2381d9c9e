package audit

import (
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Where a record is all rows of a unit, a neighbouring table has any other rows in their
// place, and any number of them: the candidates below are whole people.

// joined is a person with these rows.
func joined(u loss.Units, rows []candidate, why string) candidate {
	var x [][]float32
	var y []float64
	for _, r := range rows {
		x, y = append(x, r.Row), append(y, r.Target)
	}
	row, n := loss.JoinRows(u, x, y)
	return candidate{Record{row, n}, why}
}

// randomUnit is an ordinary person with as many rows as there may be, or fewer.
func randomUnit(r *rand.Rand, dim int, u loss.Units) candidate {
	rows := make([]candidate, 1+r.IntN(u.Rows()))
	for i := range rows {
		rows[i] = random(r, loss.RowFeatures(u, dim), u.Row())
	}
	return joined(u, rows, "random rows")
}

// worstUnits are the people whose rows are all one of those that move an answer most: of
// as many rows as there may be, and of one.
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

// blank is a record with nothing in its rows, of all there may be, but targets.
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

// climbedUnit is a unit with other features, from a vector of them and of what was
// behind them; how many rows it has, and their targets, stay. A faulty one stays as it was.
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

// grouped deals a table's rows to n people: each has some of as many as there may be.
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
