package wire

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// counted is an engine with a given number of records. It answers no query.
type counted struct {
	engine.Engine
	n int
}

func (c counted) Len() int     { return c.n }
func (c counted) Dim() int     { return 2 }
func (c counted) Close() error { return nil }

// tagsOf returns n different tags in order. The first halves of tags are equal in pairs.
func tagsOf(n int) (tags []Tag) {
	r := rand.New(rand.NewPCG(3, 3))
	for i := range n {
		t := Tag{r.Uint64(), r.Uint64()}
		if i%2 == 1 {
			t[0] = tags[i-1][0]
		}
		tags = append(tags, t)
	}
	return tags
}

// compared gathers workers with these tags and returns the result of Gather. Each worker in lost is lost
// once it has written the stated number of bytes, and is then replaced.
func compared(t testing.TB, parts [][]Tag, lost map[int]int) error {
	t.Helper()
	conns := make(chan io.ReadWriteCloser, 2*len(parts))
	serve := func(i, most int) {
		near, far := net.Pipe()
		conns <- near
		w := &cutOff{Conn: far}
		w.left.Store(int64(most))
		tags := slices.SortedFunc(slices.Values(parts[i]), Tag.Compare)
		Work(context.Background(), w, Hello{Version: "test", Partition: i},
			func(context.Context, []byte, [32]byte) (Held, error) {
				return Held{Engine: counted{n: len(tags)}, Digest: Digest{byte(i), byte(i >> 8), 1}, Tags: tags}, nil
			})
	}
	for i := range parts {
		go func() {
			if most, ok := lost[i]; ok {
				serve(i, most)
			}
			serve(i, 1<<40)
		}()
	}
	c := Config{Count: len(parts), Loss: loss.Logistic(), Dim: 2, Version: "test", Units: true, Silence: 20 * time.Second,
		Patience: 20 * time.Second}
	s, err := Gather(context.Background(), c, func(ctx context.Context) (io.ReadWriteCloser, error) {
		select {
		case c := <-conns:
			return c, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	if err == nil {
		err = s.Close()
	}
	return err
}

// cutOff is a connection that breaks after a number of bytes has been written.
type cutOff struct {
	net.Conn
	left atomic.Int64
}

func (c *cutOff) Write(p []byte) (int, error) {
	if c.left.Add(-int64(len(p))) < 0 {
		c.Close()
		return 0, io.ErrClosedPipe
	}
	return c.Conn.Write(p)
}

// TestUnitsApart: units that are each in one partition must be accepted, also beside empty
// partitions. A unit in two partitions must be refused before a query can be made, wherever its tag
// (keyed identifier) is in the order of the tags. The error must contain no number.
func TestUnitsApart(t *testing.T) {
	tags := tagsOf(40)
	parts := func() [][]Tag { return [][]Tag{slices.Clone(tags[:11]), nil, slices.Clone(tags[11:39]), {tags[39]}} }
	for _, p := range [][][]Tag{parts(), {tags}, {tags[:7], tags[7:]}, {nil, nil}, {nil}} {
		if err := compared(t, p, nil); err != nil {
			t.Errorf("%v", err)
		}
	}
	if err := compared(t, [][]Tag{tags[:8], tags[7:]}, nil); !errors.Is(err, ErrSplit) {
		t.Errorf("a tag in both of two partitions: %v", err)
	}
	for from, to := range map[int]int{0: 2, 2: 1, 3: 0} {
		for i := range parts()[from] {
			p := parts()
			p[to] = append(p[to], p[from][i])
			err := compared(t, p, nil)
			if !errors.Is(err, ErrSplit) {
				t.Fatalf("tag %d of partition %d in partition %d too: %v", i, from, to, err)
			}
			if strings.ContainsAny(err.Error(), "0123456789") {
				t.Errorf("the error tells a number: %v", err)
			}
		}
	}
}

// TestManyUnits: tags (keyed identifiers of units) that need several messages must be compared like
// few tags, also if a worker is lost between two messages or within one.
func TestManyUnits(t *testing.T) {
	const n = 150_000
	tags := tagsOf(n)
	for _, lost := range []map[int]int{nil, {0: 200}, {0: 100_000, 2: 1_200_000}} {
		if err := compared(t, [][]Tag{tags[:70_000], tags[70_000:70_001], tags[70_001:]}, lost); err != nil {
			t.Errorf("lost %v: %v", lost, err)
		}
		if err := compared(t, [][]Tag{tags[:70_000], tags[70_000:70_001], tags[69_999:]}, lost); !errors.Is(err, ErrSplit) {
			t.Errorf("lost %v: %v", lost, err)
		}
	}
	first := slices.SortedFunc(slices.Values(tags[:70_000]), Tag.Compare)
	for _, i := range []int{0, 1<<16 - 1, 1 << 16, len(first) - 1} { // the first and the last of a message
		if err := compared(t, [][]Tag{first, {first[i]}, tags[70_000:]}, nil); !errors.Is(err, ErrSplit) {
			t.Errorf("tag %d: %v", i, err)
		}
	}
}

// TestTagsAreRefused: a worker without tags must refuse a request for tags, the keyed identifiers of
// units.
func TestTagsAreRefused(t *testing.T) {
	q := request{what: asksTags, from: 1, count: 2}
	if got, err := q.answered(context.Background(), Held{Engine: counted{n: 3}}); err == nil {
		t.Error(got)
	}
	got, err := q.answered(context.Background(), Held{Engine: counted{n: 3}, Tags: []Tag{{1, 2}, {3, 1 << 63}, {5, 6}}})
	if want := []int64{3, -1 << 63, 5, 6}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v: must be %v", got, err, want)
	}
}

// BenchmarkUnitsCompared compares the tags of a million units in three partitions, over pipes in memory.
func BenchmarkUnitsCompared(b *testing.B) {
	tags := tagsOf(1_000_000)
	slices.SortFunc(tags, Tag.Compare)
	parts := make([][]Tag, 3)
	for i, t := range tags {
		parts[i%3] = append(parts[i%3], t)
	}
	for b.Loop() {
		if err := compared(b, parts, nil); err != nil {
			b.Fatal(err)
		}
	}
}
