package engine

import "github.com/stillpoint-dp/stillpoint/curator/internal/row"

// tileRows is the number of rows processed together: they, the point and the
// accumulator stay in the first-level cache at the usual dimensions.
const tileRows = 64

// tiling cuts a table, or a list of its rows, into pieces that goroutines take
// in any order.
type tiling struct {
	table   *row.Table
	members []int32
}

func (e *Engine) tiles(members []int32) tiling { return tiling{e.table, members} }

func (t tiling) len() int {
	if t.members == nil {
		return len(t.table.Blocks())
	}
	return (len(t.members) + tileRows - 1) / tileRows
}

// records returns how many records the pieces hold.
func (t tiling) records() int {
	if t.members == nil {
		return t.table.Len()
	}
	return len(t.members)
}

// at returns the rows and targets of a piece: a block of the table itself, or a
// gathered copy of member rows in the goroutine's scratch.
func (t tiling) at(i int, p *pass) ([]float32, []float64) {
	if t.members == nil {
		b := t.table.Blocks()[i]
		return b.Rows, b.Targets
	}
	p.rows, p.targets = p.rows[:0], p.targets[:0]
	for _, r := range t.members[i*tileRows : min((i+1)*tileRows, len(t.members))] {
		x, y := t.table.Row(int(r))
		p.rows = append(p.rows, x...)
		p.targets = append(p.targets, y)
	}
	return p.rows, p.targets
}
