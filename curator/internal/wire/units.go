package wire

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
)

// Tag is a keyed tag of a unit: a pseudorandom function of the text that names the unit, under a key
// of the session. Equal units have equal tags in all partitions. Different units have equal tags with
// a probability of 2^-128 for each pair.
type Tag [2]uint64

// Compare returns -1, 0 or 1 if t is before, equal to or after the other tag in the order of tags.
func (t Tag) Compare(u Tag) int { return cmp.Or(cmp.Compare(t[0], u[0]), cmp.Compare(t[1], u[1])) }

// ErrSplit reports that some unit has rows in two partitions. Its text reveals neither the unit, nor the
// number of such units, nor the partitions.
var ErrSplit = errors.New("shards: a unit has rows in two partitions: must have all of them in one (partition the " +
	"table by the unit's column)")

// mostTags limits the number of tags that are in memory during their comparison, over all partitions.
const mostTags = 1 << 22

// tagNumbers returns tags in the form of a worker's answer to a query: two integers for each tag.
func tagNumbers(tags []Tag) []int64 {
	numbers := make([]int64, 0, 2*len(tags))
	for _, t := range tags {
		numbers = append(numbers, int64(t[0]), int64(t[1]))
	}
	return numbers
}

// cursor reads the sorted tags (keyed identifiers) of a partition's units one after the other. The
// worker sends them in batches.
type cursor struct {
	of    *part
	ahead []int64 // tags that are fetched, two numbers each
	next  int     // the number of the first tag that is not fetched
}

func (c *cursor) tag() Tag { return Tag{uint64(c.ahead[0]), uint64(c.ahead[1])} }

// If no fetched tag is left, fetch asks the worker for the next batch of tags. The argument most is the
// largest number of tags of a batch. fetch reports whether there is a next tag.
func (c *cursor) fetch(ctx context.Context, s *Shards, most int) (bool, error) {
	if len(c.ahead) > 0 {
		return true, nil
	}
	n := min(most, c.of.holds.rows-c.next)
	if n == 0 {
		return false, nil
	}
	r, err := s.askOne(ctx, c.of, request{what: asksTags, from: c.next, count: n}, 2*n)
	c.ahead, c.next = r.sum, c.next+n
	return err == nil, err
}

// cursors is a heap of the cursors of several partitions, ordered by the next tag of each cursor.
type cursors []*cursor

func (c cursors) Len() int           { return len(c) }
func (c cursors) Less(i, j int) bool { return c[i].tag().Compare(c[j].tag()) < 0 }
func (c cursors) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *cursors) Push(x any)        { *c = append(*c, x.(*cursor)) }
func (c *cursors) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// disjoint returns ErrSplit if two partitions have a unit in common. It merges the sorted tags (keyed
// identifiers of units) of all partitions and requires that they strictly increase. If a tag does
// not, it is in two partitions, or a worker has not sorted its tags.
func (s *Shards) disjoint(ctx context.Context) error {
	most := min(max(mostTags/len(s.parts), 64), 1<<16)
	var merged cursors
	for _, p := range s.parts {
		c := &cursor{of: p}
		switch more, err := c.fetch(ctx, s, most); {
		case err != nil:
			return err
		case more:
			heap.Push(&merged, c)
		}
	}
	var last Tag
	for first := true; len(merged) > 0; first = false {
		c := merged[0]
		t := c.tag()
		if !first && t.Compare(last) <= 0 {
			return ErrSplit
		}
		last, c.ahead = t, c.ahead[2:]
		switch more, err := c.fetch(ctx, s, most); {
		case err != nil:
			return err
		case more:
			heap.Fix(&merged, 0)
		default:
			heap.Pop(&merged)
		}
	}
	return nil
}
