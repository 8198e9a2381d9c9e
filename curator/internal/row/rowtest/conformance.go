package rowtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// Make returns a source of the records. blockRows is the number of rows of a block
// where a source has such a number, 0 for its own. The source is closed by the
// suite.
type Make func(t testing.TB, dim, blockRows int, records []Record) row.Source

// Run demands of a source what row.Source and row.Reader say: every row once and in
// order whatever the blocks, members in the order and as often as they are named,
// faulty rows as such, and buffers that belong to one reader.
func Run(t *testing.T, source Make) {
	t.Run("rows", func(t *testing.T) {
		for _, dim := range []int{1, 8, 11} {
			for _, n := range Lengths {
				for _, block := range BlockRows {
					records := Records(n, dim, uint64(n), true)
					s := source(t, dim, block, records)
					if complaint := compare(s, dim, records); complaint != "" {
						t.Errorf("%s: %s", name(n, dim, block), complaint)
					}
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
	t.Run("copies", func(t *testing.T) { copies(t, source) })
	t.Run("readers", func(t *testing.T) { readers(t, source) })
	t.Run("closed", func(t *testing.T) {
		s := source(t, 3, 2, Records(9, 3, 1, false))
		for range 3 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// compare returns what is wrong with a source of the records, or "".
func compare(s row.Source, dim int, records []Record) string {
	if s.Len() != len(records) || s.Dim() != dim || s.Stride()%row.Lane != 0 || s.Stride() < dim || s.Stride() >= dim+row.Lane {
		return "has other sizes"
	}
	r, at, stride := s.Reader(), 0, s.Stride()
	for i := range s.Blocks() {
		b, err := r.Block(i)
		if err != nil {
			return err.Error()
		}
		if len(b.Rows) != stride*len(b.Targets) {
			return "has a block of another shape"
		}
		for k, y := range b.Targets {
			if at == len(records) {
				return "has more rows in its blocks"
			}
			if !is(records[at], dim, b.Rows[k*stride:(k+1)*stride], y) {
				return "has another row in a block"
			}
			at++
		}
	}
	if at < len(records) {
		return "has fewer rows in its blocks"
	}
	return compareMembers(s, dim, records)
}

// compareMembers reads rows in any order, and more than once.
func compareMembers(s row.Source, dim int, records []Record) string {
	if len(records) == 0 {
		return ""
	}
	coin := rand.New(rand.NewPCG(1, uint64(len(records))))
	r := s.Reader()
	for _, n := range []int{0, 1, 2, 64, 5, 64} {
		members := make([]int32, n)
		for i := range members {
			members[i] = int32(coin.IntN(len(records)))
		}
		if n > 1 {
			members[n-1] = members[0]
		}
		x, y := make([][]float32, n), make([]float64, n)
		if err := r.Rows(x, y, members); err != nil {
			return err.Error()
		}
		for i, m := range members {
			if !is(records[m], dim, x[i], y[i]) {
				return "has another row for a member"
			}
		}
	}
	return ""
}

// is reports whether a stored row is that of the record, padding included.
func is(r Record, dim int, x []float32, y float64) bool {
	want, target := make([]float32, (dim+row.Lane-1)/row.Lane*row.Lane), math.NaN()
	if r.Sound(dim) {
		copy(want, r.X)
		target = r.Y
	}
	same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	return slices.EqualFunc(x, want, same) && (y == target || y != y && target != target)
}

// copies demands that what the records' owner does to them later changes nothing,
// of rows as long as a stride too.
func copies(t *testing.T, source Make) {
	const n = 21
	for _, dim := range []int{5, row.Lane} {
		for _, block := range []int{1, 4} {
			given := Records(n, dim, 2, false)
			s := source(t, dim, block, given)
			for i := range given {
				clear(given[i].X)
				given[i].Y = 7
			}
			if complaint := compare(s, dim, Records(n, dim, 2, false)); complaint != "" {
				t.Errorf("%s, after its records were changed: %s", name(n, dim, block), complaint)
			}
			s.Close()
		}
	}
}

// readers demands that what one reader returned stays while others read, from
// other goroutines too.
func readers(t *testing.T, source Make) {
	const n, dim, block = 70, 9, 16
	records := Records(n, dim, 3, true)
	s := source(t, dim, block, records)
	defer s.Close()
	mine, others := s.Reader(), s.Reader()
	for i := range s.Blocks() {
		b, err := mine.Block(i)
		if err != nil {
			t.Fatal(err)
		}
		rows, targets := slices.Clone(b.Rows), slices.Clone(b.Targets)
		x, y := make([][]float32, block), make([]float64, block)
		for k := range s.Blocks() {
			if _, err := others.Block(k); err != nil {
				t.Fatal(err)
			}
			if err := others.Rows(x, y, []int32{int32(k), 69, 0}); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(b.Rows, rows) || !slices.EqualFunc(b.Targets, targets, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Fatal("a block changed while another reader read")
		}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if complaint := compare(s, dim, records); complaint != "" {
					t.Errorf("read by several goroutines: %s", complaint)
				}
			}
		})
	}
	wg.Wait()
}
