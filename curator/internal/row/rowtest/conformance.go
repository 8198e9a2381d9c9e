package rowtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// Make returns a source of the given records. blockRows is the number of rows of a block, for sources that
// have such a setting; 0 means the source's default. The suite closes the source.
type Make func(t testing.TB, l *row.Layout, blockRows int, records []Record) row.Source

// Run tests the documented properties of row.Source and row.Reader. Every row appears once and in order for every block
// size. Rows that are requested by number appear in the requested order and number. Invalid (faulty) rows have target
// NaN and zero features. Readers have separate buffers. A source may be closed several times.
func Run(t *testing.T, source Make) {
	t.Run("rows", func(t *testing.T) {
		for _, l := range Layouts() {
			for _, n := range Lengths {
				for _, block := range BlockRows {
					if l.Dim() > 1<<16 && (n != 7 || block != 3) {
						continue // wide codes only change the encoding, so that one size is enough
					}
					records := Records(n, l, uint64(n), true)
					s := source(t, l, block, records)
					if complaint := compare(s, l, records); complaint != "" {
						t.Errorf("%s: %s", name(n, l, block), complaint)
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
		s := source(t, Dense(3), 2, Records(9, Dense(3), 1, false))
		for range 3 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// RunOf runs the subtest "rows" of Run, for sources that only store records of one layout.
func RunOf(t *testing.T, l *row.Layout, records func(n int) []Record, source Make) {
	for _, n := range Lengths {
		for _, block := range BlockRows {
			list := records(n)
			s := source(t, l, block, list)
			if complaint := compare(s, l, list); complaint != "" {
				t.Errorf("%s: %s", name(n, l, block), complaint)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// RunWrittenOut compares the rows of a source with the records, as the subtest "rows" of Run does. It is for sources
// that store each row with all its features, including zeros, whatever the layout of the records.
func RunWrittenOut(t *testing.T, source Make) {
	for _, l := range Layouts() {
		if l.Dim() > 1<<16 {
			continue
		}
		records := Records(129, l, 4, true)
		s := source(t, l, 16, records)
		dense := make([]Record, len(records))
		for i, r := range records {
			if dense[i].Of = Dense(l.Dim()); r.Sound() {
				dense[i] = Record{Of: Dense(l.Dim()), X: r.Full(), Y: r.Y, OK: true}
			}
		}
		if complaint := compare(s, Dense(l.Dim()), dense); complaint != "" {
			t.Errorf("%s: %s", name(len(records), l, 16), complaint)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// compare describes the first difference between a source's rows and the records. It returns "" if there is
// none.
func compare(s row.Source, l *row.Layout, records []Record) string {
	if s.Len() != len(records) || s.Layout().Dim() != l.Dim() || s.Layout().Groups() != l.Groups() {
		return "has other sizes"
	}
	if l.Stride()%row.Lane != 0 || l.Stride() < l.Numbers() || l.Stride() >= l.Numbers()+row.Lane {
		return "has another stride"
	}
	r, at := s.Reader(), 0
	for i := range s.Blocks() {
		b, err := r.Block(i)
		if err != nil {
			return err.Error()
		}
		n := len(b.Targets)
		if at+n > len(records) {
			return "has more rows in its blocks"
		}
		if !are(l, records[at:at+n], b) {
			return "has another row in a block"
		}
		at += n
	}
	if at < len(records) {
		return "has fewer rows in its blocks"
	}
	return compareMembers(s, l, records)
}

// compareMembers compares the rows that a reader returns for row numbers in random order, some repeated, with
// the records. It describes the first difference; "" means none.
func compareMembers(s row.Source, l *row.Layout, records []Record) string {
	if len(records) == 0 {
		return ""
	}
	coin := rand.New(rand.NewPCG(1, uint64(len(records))))
	r := s.Reader()
	var b row.Block
	var named []Record
	for _, n := range []int{0, 1, 2, 64, 5, 64} {
		members := make([]int32, n)
		for i := range members {
			members[i] = int32(coin.IntN(len(records)))
		}
		if n > 1 {
			members[n-1] = members[0]
		}
		if n != 5 { // n = 5 adds rows to the block without clearing it
			b.Clear()
			named = named[:0]
		}
		if err := r.Rows(&b, members); err != nil {
			return err.Error()
		}
		for _, m := range members {
			named = append(named, records[m])
		}
		if !are(l, named, b) {
			return "has another row for a member"
		}
	}
	return ""
}

// are reports whether the rows of block b equal the given records: their numbers, padding and codes,
// and all their features when written out.
func are(l *row.Layout, records []Record, b row.Block) bool {
	if len(b.Targets) != len(records) || len(b.Rows) != len(records)*l.Stride() {
		return false
	}
	if g := l.Groups(); g > 0 && (len(b.Levels) != len(records) ||
		len(b.Codes.Narrow)+len(b.Codes.Wide) != g*len(records)) {
		return false
	}
	same := func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }
	full := make([]float32, len(records)*l.Full())
	l.WriteOut(full, b)
	for i, r := range records {
		want, numbers, target := make([]float32, l.Full()), make([]float32, l.Stride()), math.NaN()
		if r.Sound() {
			copy(want, r.Full())
			copy(numbers, r.X)
			target = r.Y
		}
		y, last := b.Targets[i], 0
		for g := range l.Groups() {
			code := codeOf(b, i*l.Groups()+g)
			if code < last || code >= last+l.Group(g).Width || r.Sound() && code != last+int(r.In[g]) ||
				!r.Sound() && b.Levels[i] != 0 {
				return false
			}
			last += l.Group(g).Width
		}
		if !slices.EqualFunc(full[i*l.Full():(i+1)*l.Full()], want, same) ||
			!slices.EqualFunc(b.Rows[i*l.Stride():(i+1)*l.Stride()], numbers, same) {
			return false
		}
		if y != target && (y == y || target == target) {
			return false
		}
	}
	return true
}

func codeOf(b row.Block, i int) int {
	if b.Codes.Wide != nil {
		return int(b.Codes.Wide[i])
	}
	return int(b.Codes.Narrow[i])
}

// copies tests that a source does not change when the caller changes the records later.
func copies(t *testing.T, source Make) {
	const n = 21
	for _, l := range []*row.Layout{Dense(5), Dense(row.Lane), Layouts()["2 groups"]} {
		for _, block := range []int{1, 4} {
			given := Records(n, l, 2, false)
			s := source(t, l, block, given)
			for i := range given {
				clear(given[i].X)
				clear(given[i].In)
				given[i].Y = 7
			}
			if complaint := compare(s, l, Records(n, l, 2, false)); complaint != "" {
				t.Errorf("%s, after its records were changed: %s", name(n, l, block), complaint)
			}
			s.Close()
		}
	}
}

// readers tests that a reader's block does not change while other readers read, including readers in other
// goroutines.
func readers(t *testing.T, source Make) {
	const n, block = 70, 16
	l := Layouts()["2 groups"]
	records := Records(n, l, 3, true)
	s := source(t, l, block, records)
	defer s.Close()
	mine, others, at := s.Reader(), s.Reader(), 0
	for i := range s.Blocks() {
		b, err := mine.Block(i)
		if err != nil {
			t.Fatal(err)
		}
		var more row.Block
		for k := range s.Blocks() {
			if _, err := others.Block(k); err != nil {
				t.Fatal(err)
			}
			if err := others.Rows(&more, []int32{int32(k), 69, 0}); err != nil {
				t.Fatal(err)
			}
		}
		if !are(l, records[at:at+len(b.Targets)], b) {
			t.Fatal("a block changed while another reader read")
		}
		at += len(b.Targets)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if complaint := compare(s, l, records); complaint != "" {
					t.Errorf("read by several goroutines: %s", complaint)
				}
			}
		})
	}
	wg.Wait()
}
