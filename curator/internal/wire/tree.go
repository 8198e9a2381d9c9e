package wire

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

const (
	// fan is the largest number of sums that a worker adds up at a time, its own included.
	fan = 8
	// mostHeld bounds the bytes of shards' sums that a session receives at the same time. Where all sums of a query
	// together take more, workers add them up in a tree.
	mostHeld = 64 << 20
	// piece is the number of numbers of a pad that one goroutine computes.
	piece = 1 << 15
)

// branch is the sum that a worker keeps for a query: over its own partition, and over those of the branches that it
// has added since. Each partition's sum has a pad of its own added, a key for which the session draws for each request.
type branch struct {
	part    *part
	by      *link
	seed    [32]byte
	address string // at which other workers reach the worker, and the name of its sum; empty: at none
	merged  []*branch
}

// unpad subtracts the pads of the branch from a sum, and returns their number.
func (b *branch) unpad(sum []int64) int {
	pad(sum, b.seed, -1)
	n := 1
	for _, m := range b.merged {
		n += m.unpad(sum)
	}
	return n
}

// askTree asks each shard as ask does, and lets workers add up the sums. The session receives one sum, and those of
// workers that others cannot reach, one after the other. A worker sees sums of others only under pads, which it
// cannot tell from random numbers. Each of the workers in a branch keeps the sum that it had when another took it: if
// the other is lost, the branch falls into its parts, and only the lost worker's partition is asked again. All shards
// are asked, then groups of fan sums added up, then groups of the results, and so on.
func (s *Shards) askTree(ctx context.Context, r request, mine [][]int32, size int) ([]int64, error) {
	s.trees.Lock()
	defer s.trees.Unlock()
	s.tree++
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex // guards what follows
	total, counted := make([]int64, size), 0
	parts := s.parts           // to be asked
	var ready, apart []*branch // branches whose sums workers can add, and those that no other worker reaches
	lost := func(b *branch) {
		s.lose(b.part, b.by)
		ready = append(ready, b.merged...)
		parts = append(parts, b.part)
	}
	hold := func(p *part, r request) {
		if r.what, r.id = asksHold, s.tree; mine != nil {
			r.members = mine[p.number]
		}
		got, err := s.askOne(ctx, p, r, -1)
		mu.Lock()
		defer mu.Unlock()
		switch b := (&branch{part: p, by: got.by, seed: got.seed, address: string(got.text)}); {
		case err != nil:
			stop(err)
		case b.address == "":
			apart = append(apart, b)
		default:
			ready = append(ready, b)
		}
	}
	merge := func(first *branch, others []*branch) {
		var text []string
		for _, b := range others {
			text = append(text, b.address)
		}
		r := request{what: asksMerge, id: s.tree, encoded: []byte(strings.Join(text, "\n"))}
		got, err := first.by.ask(ctx, r, 0, 1)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == errGone:
			ready = append(ready, others...)
			lost(first)
		case err != nil:
			stop(err)
		default:
			n := int(min(uint64(got.sum[0]), uint64(len(others))))
			first.merged, ready = append(first.merged, others[:n]...), append(ready, first)
			if n < len(others) { // the first does not reach it
				apart, ready = append(apart, others[n]), append(ready, others[n+1:]...)
			}
		}
	}
	for ctx.Err() == nil && len(parts)+len(ready)+len(apart) > 0 {
		var all sync.WaitGroup
		switch asked, groups := parts, ready; {
		case len(asked) > 0:
			parts = nil
			for _, p := range asked {
				all.Go(func() { hold(p, r) })
			}
		case len(groups) > 1:
			ready = nil
			for g := range slices.Chunk(groups, fan) {
				all.Go(func() { merge(g[0], g[1:]) })
			}
		default:
			left := append(apart, ready...)
			b := left[0]
			apart, ready = left[1:], nil
			got, err := b.by.ask(ctx, request{what: asksGive, id: s.tree}, 0, size)
			if err == errGone {
				lost(b)
			} else if err != nil {
				stop(err)
			} else {
				add(total, got.sum)
				counted += b.unpad(total)
			}
		}
		all.Wait()
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if counted != len(s.parts) {
		return nil, errMessage
	}
	return total, nil
}

// add adds b to a.
func add(a, b []int64) {
	for j, v := range b {
		a[j] += v
	}
}

// fresh returns the key of a new pad.
func (s *Shards) fresh() [32]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secret.Key()
}

// pad adds the pad of a key to a sum, times sign, on all processors.
func pad(sum []int64, key [32]byte, sign int64) {
	var all sync.WaitGroup
	for i := 0; i < len(sum); i += piece {
		all.Go(func() { coin.Pad(key, i, sum[i:min(i+piece, len(sum))], sign) })
	}
	all.Wait()
}
