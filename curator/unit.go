package curator

import (
	"slices"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/dataset"
)

// grouping finds whose rows are whose while a table is read, and keeps at most as many
// of each unit as its schema says: those with the smallest keyed hashes of all their cells
// and the unit's own. The key is the session's secret, so that nobody can choose the rows
// that are kept, and the hash is of nothing but the row: which are kept depends neither on
// their order in the table nor on anybody else's rows. Rows with the same cells are the
// same row several times over.
//
// Nothing bounds the rows of a unit but the cap: they may be a thousand, or the whole
// table. The sum over units sees only the one record that becomes of them.
type grouping struct {
	rows  int // of a unit, at most
	index map[string]int
	units [][]keptRow // sorted by hash

	mu    sync.Mutex // over what follows
	key   *coin.Keyed
	cells []string
}

// owned says whose a row is, and by what hash it is kept.
type owned struct {
	unit string
	ok   bool // whether it is anybody's
	hash uint64
}

// keptRow is a row of the source that is in a record so far.
type keptRow struct {
	hash uint64
	row  int32
}

// newGrouping returns nil where each row is a record.
func newGrouping(u dataset.Unit, key *coin.Keyed) *grouping {
	if u == (dataset.Unit{}) {
		return nil
	}
	return &grouping{rows: u.Rows, key: key, index: map[string]int{}}
}

// owner finds whose a row is. It is nobody's where each row is a record.
func (g *grouping) owner(m *dataset.Map, cells []string) (o owned) {
	if g == nil {
		return owned{}
	}
	if o.unit, o.ok = m.Unit(cells); o.ok {
		o.hash = g.sum(cells)
	}
	return o
}

// takes reports whether a row, which would have the given number in the source, is to be
// kept there, and remembers it. A unit all of whose rows are faulty is a record all the
// same; a row that is nobody's is in none.
func (g *grouping) takes(o owned, sound bool, number int) bool {
	if !o.ok {
		return false
	}
	u, known := g.index[o.unit]
	if !known {
		u = len(g.units)
		g.index[strings.Clone(o.unit)] = u
		g.units = append(g.units, nil)
	}
	if !sound {
		return false
	}
	kept := g.units[u]
	r := keptRow{o.hash, int32(number)}
	if len(kept) == g.rows && r.hash >= kept[len(kept)-1].hash {
		return false
	}
	at, _ := slices.BinarySearchFunc(kept, r, func(a, b keptRow) int {
		if a.hash <= b.hash { // equals stay in the order they came in: they are the same row
			return -1
		}
		return 1
	})
	kept = slices.Insert(kept, at, r)
	g.units[u] = kept[:min(len(kept), g.rows)]
	return true
}

// sum is the hash of a row's cells, trimmed: among them is the unit's.
func (g *grouping) sum(cells []string) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cells = g.cells[:0]
	for _, cell := range cells {
		g.cells = append(g.cells, strings.TrimSpace(cell))
	}
	return g.key.Sum(g.cells)
}

// source puts the rows of a source together by unit. A row that was kept for a time and
// then made room for another stays in it, in no record.
func (g *grouping) source(of row.Source) (row.Source, error) {
	var rows []int32
	first := []int32{0}
	for _, kept := range g.units {
		for _, r := range kept {
			rows = append(rows, r.row)
		}
		first = append(first, int32(len(rows)))
	}
	g.index, g.units = nil, nil
	return row.NewGrouped(of, g.rows, rows, first)
}
