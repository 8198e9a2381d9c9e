package curator

import (
	"slices"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/dataset"
)

// grouping assigns rows to units while a table is read, and keeps at most the schema's number of rows of each
// unit. It keeps the rows with the smallest keyed hashes of all their cells, the unit's cell included. The
// key is a secret of the session, so that nobody can choose which rows are kept. The hash depends on the row
// only. Which rows are kept therefore depends neither on their order in the table nor on the rows of other
// units. Rows with equal cells are copies of one row.
//
// A unit may have any number of rows in the table. Each unit contributes one record to a sum, built from the
// unit's rows that are kept.
type grouping struct {
	rows  int // largest number of rows of a unit
	index map[string]int
	units [][]keptRow // the rows that each unit keeps, sorted by hash

	mu    sync.Mutex // guards the fields below
	key   *coin.Keyed
	cells []string
}

// owned is the unit to which a row belongs, with the row's keyed hash.
type owned struct {
	unit string
	ok   bool // whether the row has a unit
	hash uint64
}

// keptRow is a stored row that its unit keeps so far: its hash and its number in the source.
type keptRow struct {
	hash uint64
	row  int32
}

// newGrouping returns a grouping by the schema's unit, or nil if each row is a record.
func newGrouping(u dataset.Unit, key *coin.Keyed) *grouping {
	if u == (dataset.Unit{}) {
		return nil
	}
	return &grouping{rows: u.Rows, key: key, index: map[string]int{}}
}

// owner returns the unit of a row and the row's hash, or the zero value if each row is a record.
func (g *grouping) owner(m *dataset.Map, cells []string) (o owned) {
	if g == nil {
		return owned{}
	}
	if o.unit, o.ok = m.Unit(cells); o.ok {
		o.hash = g.sum(cells)
	}
	return o
}

// takes reports whether a row is to be stored and, if so, adds the row to the rows that its unit keeps. A
// row is to be stored if it is sound and its hash is among the smallest of its unit so far. number is the
// number that the row then has in the source. A faulty row is not stored, but its unit is a record even if
// all of the unit's rows are faulty. A row without a unit belongs to no record.
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
		if a.hash <= b.hash { // equal hashes stay in the order of the table: they are copies of one row
			return -1
		}
		return 1
	})
	kept = slices.Insert(kept, at, r)
	g.units[u] = kept[:min(len(kept), g.rows)]
	return true
}

// sum returns the keyed hash of a row's trimmed cells, the unit's cell included.
func (g *grouping) sum(cells []string) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cells = g.cells[:0]
	for _, cell := range cells {
		g.cells = append(g.cells, strings.TrimSpace(cell))
	}
	return g.key.Sum(g.cells)
}

// unitRows lists the stored rows of units: unit i has the rows with numbers rows[first[i]:first[i+1]], at most
// most of them.
type unitRows struct {
	most        int
	rows, first []int32
}

// kept returns the rows that the units keep. A row that its unit kept for a time and then replaced stays in the
// source of rows, but belongs to no record. The grouping is empty afterwards.
func (g *grouping) kept() *unitRows {
	u := &unitRows{most: g.rows, first: []int32{0}}
	for _, kept := range g.units {
		for _, r := range kept {
			u.rows = append(u.rows, r.row)
		}
		u.first = append(u.first, int32(len(u.rows)))
	}
	g.index, g.units = nil, nil
	return u
}
