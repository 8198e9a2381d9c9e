package wire

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/codec"
)

// sent returns the bytes by which members of n rows are sent.
func sent(members []int32, n int, ordered bool) []byte {
	var c codec.Codec
	codeMembers(&c, &members, n, ordered)
	return c.B
}

// received returns the members at the beginning of b, and what follows them.
func received(b []byte, n int) (members []int32, rest []byte, err error) {
	c := codec.Codec{B: b, Reads: true}
	if codeMembers(&c, &members, n, false); c.Bad {
		return nil, nil, errMessage
	}
	return members, c.B, nil
}

// TestMembersTravel tests that members arrive as they were sent: in their order for a pass and in
// increasing order for a sum, however many there are and however often a row is repeated.
func TestMembersTravel(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, n := range []int{0, 1, 7, 8, 9, 300, 4097, math.MaxInt32} {
		for _, count := range []int{0, 1, 2, 37, 38, 299, 300, 900} {
			if n == 0 && count > 0 {
				continue
			}
			members := make([]int32, count)
			for i := range members {
				members[i] = int32(r.IntN(n))
			}
			if n < count*50 && count < n { // distinct
				for i, p := range r.Perm(n)[:count] {
					members[i] = int32(p)
				}
			}
			for _, ordered := range []bool{false, true} {
				was := slices.Clone(members)
				b := sent(members, n, ordered)
				if !slices.Equal(members, was) {
					t.Fatal("sending changes the members")
				}
				want := slices.Clone(members)
				if !ordered {
					slices.Sort(want)
				}
				got, rest, err := received(append(b, 7), n)
				if err != nil || got == nil || !slices.Equal(got, want) || !bytes.Equal(rest, []byte{7}) {
					t.Errorf("%d members of %d rows: %v, %v, %v", count, n, got, rest, err)
				}
				for i := range b {
					if _, _, err := received(b[:i], n); err == nil {
						t.Errorf("%d members of %d rows: the first %d bytes are read", count, n, i)
					}
				}
			}
		}
	}
	if got, rest, err := received(sent(nil, 9, false), 9); got != nil || len(rest) > 0 || err != nil {
		t.Errorf("all rows: %v, %v, %v", got, rest, err)
	}
}

// TestMembersAreShort tests that distinct members take about a byte each, and in total at most a
// bit for each row.
func TestMembersAreShort(t *testing.T) {
	const n = 100_000
	r := rand.New(rand.NewPCG(8, 8))
	for _, count := range []int{0, 10, 400, 4000, 12_500, 50_000, n} {
		members := make([]int32, count)
		for i, p := range r.Perm(n)[:count] {
			members[i] = int32(p)
		}
		if got := len(sent(members, n, false)); got > n/8+8 || got > 2*count+8 {
			t.Errorf("%d members of %d rows take %d bytes", count, n, got)
		}
	}
}

// FuzzRequest tests that bytes are refused or are a query about existing rows.
func FuzzRequest(f *testing.F) {
	for _, members := range [][]int32{nil, {}, {4}, {1, 2, 3, 4, 5, 6}, {0, 0, 9}} {
		f.Add(request{scale: 3, members: members}.body(10), 10)
		f.Add(request{what: asksPass, scale: 3, members: members}.body(10), 10)
	}
	f.Add(request{what: asksTags, from: 3, count: 7}.body(10), 10)
	f.Add(request{what: asksTags, from: 4, count: 7}.body(10), 10)
	f.Add(request{what: asksHold, id: 3, members: []int32{1}}.body(10), 10)
	f.Add(request{what: asksMerge, id: 3}.body(10), 10)
	f.Add(request{what: asksGive, id: 3}.body(10), 10)
	f.Fuzz(func(t *testing.T, b []byte, rows int) {
		if rows < 0 || rows > 1<<20 {
			return
		}
		q, err := readRequest(b, rows)
		if err == nil && q.from+q.count > rows {
			t.Errorf("%x: %d tags from %d of %d", b, q.count, q.from, rows)
		}
		for _, m := range q.members {
			if err != nil || m < 0 || int(m) >= rows {
				t.Errorf("%x: member %d of %d rows, %v", b, m, rows, err)
			}
		}
	})
}

// sampled returns the members of a Poisson sample of n rows with probability q.
func sampled(r *rand.Rand, n int, q float64) (members []int32) {
	for i := -1; ; {
		if i += 1 + int(math.Log1p(-r.Float64())/math.Log1p(-q)); i >= n {
			return members
		}
		members = append(members, int32(i))
	}
}

// TestBytesOfSamples tests the size of a sample that docs/explanation/decisions/0048 derives: a member takes
// 1 + (1-q)^127 bytes on average, or a row takes a bit, whichever is less. The bytes of 1e6 rows are within 2% of that.
func TestBytesOfSamples(t *testing.T) {
	const n = 1_000_000
	r := rand.New(rand.NewPCG(9, 9))
	for _, q := range []float64{.005, .01, .04, .1, .2, .5} {
		got, want := len(sent(sampled(r, n, q), n, false)), min(q*n*(1+math.Pow(1-q, 127)), n/8)
		if !(math.Abs(float64(got)/want-1) <= .02) {
			t.Errorf("q = %v: %d bytes: must be about %.0f", q, got, want)
		}
	}
}

// BenchmarkMembers reports the bytes of a sample's members for 1e8 rows and a probability of .04.
func BenchmarkMembers(b *testing.B) {
	const n = 100_000_000
	members := sampled(rand.New(rand.NewPCG(9, 9)), n, .04)
	size := 0
	for b.Loop() {
		size = len(sent(members, n, false))
	}
	b.ReportMetric(float64(size), "bytes")
	b.ReportMetric(float64(size)/float64(len(members)), "bytes/member")
}

// TestBitmapsHaveNoByteTooMany: all distinct rows of a query are sent as the byte of their form and a bit for each row, in
// whole bytes: 8 and 16 rows take 1 and 2 bytes, and not one byte more.
func TestBitmapsHaveNoByteTooMany(t *testing.T) {
	for n, want := range map[int][]byte{7: {bitmap, 0x7f}, 8: {bitmap, 0xff}, 9: {bitmap, 0xff, 1}, 16: {bitmap, 0xff, 0xff}} {
		members := make([]int32, n)
		for i := range members {
			members[i] = int32(i)
		}
		if got := sent(members, n, false); !bytes.Equal(got, want) {
			t.Errorf("%d rows: % x: must be % x", n, got, want)
		}
	}
}
