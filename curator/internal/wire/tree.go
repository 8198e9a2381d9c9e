package wire

import (
	"context"
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
	address string // at which other workers reach the worker; empty: at none
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
// the other is lost, the branch falls into its parts, and only the lost worker's partition is asked again.
func (s *Shards) askTree(ctx context.Context, r request, mine [][]int32, size int) ([]int64, error) {
	s.trees.Lock()
	defer s.trees.Unlock()
	s.tree++
	id := s.tree
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	total, counted, waiting := make([]int64, size), 0, 0
	var ready, apart []*branch    // branches whose sums workers can add, and those that no other worker reaches
	steps := make(chan func(), 1) // the effects of steps that have ended
	do := func(step func() (func(), error)) {
		waiting++
		go func() {
			effect, err := step()
			if err != nil {
				stop(err)
				effect = func() {}
			}
			steps <- effect
		}()
	}
	hold := func(p *part) {
		r := r
		if r.what, r.id = asksHold, id; mine != nil {
			r.members = mine[p.number]
		}
		do(func() (func(), error) {
			got, err := s.askOne(ctx, p, r, -1)
			b := &branch{part: p, by: got.by, seed: got.seed, address: string(got.text)}
			return func() {
				if b.address == "" {
					apart = append(apart, b)
				} else {
					ready = append(ready, b)
				}
			}, err
		})
	}
	// ask asks a branch's worker. If the worker is lost, the branch falls into its parts.
	ask := func(b *branch, what byte, text string, size int, then func(got []int64), lost func()) {
		do(func() (func(), error) {
			got, err := b.by.ask(ctx, request{what: what, id: id, encoded: []byte(text)}, 0, size)
			if err == errGone {
				return func() {
					s.lose(b.part, b.by)
					ready = append(ready, b.merged...)
					hold(b.part)
					lost()
				}, nil
			}
			return func() { then(got.sum) }, err
		})
	}
	for _, p := range s.parts {
		hold(p)
	}
	for {
		for ctx.Err() == nil && (len(ready) >= fan || waiting == 0 && len(ready) > 1) {
			n := min(fan, len(ready))
			first, others := ready[0], ready[1:n:n]
			ready = ready[n:]
			var text []string
			for _, b := range others {
				text = append(text, b.address)
			}
			ask(first, asksMerge, strings.Join(text, "\n"), 1, func(got []int64) {
				n := int(min(uint64(got[0]), uint64(len(others))))
				first.merged, ready = append(first.merged, others[:n]...), append(ready, first)
				if n < len(others) { // the first does not reach it
					apart, ready = append(apart, others[n]), append(ready, others[n+1:]...)
				}
			}, func() { ready = append(ready, others...) })
		}
		if left := append(apart, ready...); waiting == 0 && ctx.Err() == nil && len(left) > 0 {
			b := left[0]
			apart, ready = left[1:], nil
			ask(b, asksGive, "", size, func(got []int64) {
				for j, v := range got {
					total[j] += v
				}
				counted += b.unpad(total)
			}, func() {})
		}
		if waiting == 0 {
			break
		}
		(<-steps)()
		waiting--
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if counted != len(s.parts) {
		return nil, errMessage
	}
	return total, nil
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
