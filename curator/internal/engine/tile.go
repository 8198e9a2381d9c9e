package engine

import "github.com/stillpoint-dp/stillpoint/curator/internal/row"

// tileRows is the number of rows processed together: they, the point and the
// accumulator stay in the first-level cache at the usual dimensions.
const tileRows = 64

// tiling cuts a table, or a list of its rows, into pieces that goroutines take
// in any order.
type tiling struct {
	table   row.Source
	members []int32
	// measured are the rows' lengths in a metric; nil for none.
	measured *lengths
}

func (e *Portable) tiles(members []int32) tiling { return tiling{table: e.table, members: members} }

func (t tiling) len() int {
	if t.members == nil {
		return t.table.Blocks()
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

// at returns the rows and targets of a piece: a block of the table, or a gathered
// copy of member rows in the goroutine's scratch.
func (t tiling) at(i int, p *pass) ([]float32, []float64, error) {
	if t.members == nil {
		b, err := p.reader.Block(i)
		if t.measured != nil {
			p.long = t.measured.block(i)
		}
		return b.Rows, b.Targets, err
	}
	members := t.members[i*tileRows : min((i+1)*tileRows, len(t.members))]
	if err := p.reader.Rows(p.members[:], p.targets[:], members); err != nil {
		return nil, nil, err
	}
	p.rows = p.rows[:0]
	for _, x := range p.members[:len(members)] {
		p.rows = append(p.rows, x...)
	}
	if t.measured != nil {
		p.long = t.measured.rows(members)
	}
	return p.rows, p.targets[:len(members)], nil
}
