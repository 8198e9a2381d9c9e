package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Sum asks every shard and returns the total of their sums.
func (s *Shards) Sum(ctx context.Context, q query.Question, scale float64, members []int32) (engine.Sum, error) {
	if err := engine.Answers(s.config.Loss, q); err != nil {
		return engine.Sum{}, err
	}
	encoded, err := q.AppendBinary(nil)
	if err != nil {
		return engine.Sum{}, err
	}
	total, err := s.ask(ctx, request{scale: scale, encoded: encoded}, members, q.SumDim())
	return engine.Sum{Residual: total}, err
}

// Average returns the average of the iterates of a pass of SGD minus the start, in grid steps, computed by
// the worker of the only partition. If there are several partitions, Average returns engine.ErrOrder.
func (s *Shards) Average(ctx context.Context, p query.Pass, scale float64, members []int32) ([]int64, error) {
	if !s.Ordered() {
		return nil, engine.ErrOrder
	}
	encoded, err := p.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	return s.ask(ctx, request{what: asksPass, scale: scale, encoded: encoded}, members, len(p.Start))
}

// ask sends a request to all shards, each of which answers with size integers. Once every shard has
// answered, ask returns the total over the shards of each of these integers. If a shard fails, ask cancels
// the other requests and returns the first error.
func (s *Shards) ask(ctx context.Context, r request, members []int32, size int) ([]int64, error) {
	if err := cmp.Or(ctx.Err(), fits(8*size)); err != nil {
		return nil, err
	}
	mine, err := s.split(members)
	if err != nil {
		return nil, err
	}
	s.follows(&r)
	if members == nil {
		mine = nil
	}
	if len(s.parts) > 1 && r.what == asksSum && 8*size > cmp.Or(s.config.Held, mostHeld)/len(s.parts) {
		return s.askTree(ctx, r, mine, size)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	total := make([]int64, size)
	var adding sync.Mutex
	var all sync.WaitGroup
	for i, p := range s.parts {
		all.Go(func() {
			r := r
			if mine != nil {
				r.members = mine[i]
			}
			got, err := s.askOne(ctx, p, r, size)
			if err != nil {
				stop(err)
				return
			}
			adding.Lock()
			defer adding.Unlock()
			add(total, got.sum)
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return total, nil
}

// askOne asks a partition's worker, which is told the form of rows before its first query about them. If the worker
// is lost, askOne asks the partition's next worker the same query.
func (s *Shards) askOne(ctx context.Context, p *part, r request, size int) (result, error) {
	for {
		l, err := s.first(ctx, p)
		if err != nil {
			return result{}, err
		}
		if err = l.refined(ctx, s.form.Load()); err == nil {
			if r.what == asksHold {
				r.seed = s.fresh()
			}
			var got result
			if got, err = l.ask(ctx, r, p.holds.rows, size); err == nil {
				got.by, got.seed = l, r.seed
				return got, nil
			}
		}
		if err == errGone {
			s.lose(p, l)
			continue
		}
		return result{}, err
	}
}

// follows notes a long query as the last one, with the end that it shares with the one before. A metric, which may
// take megabytes, is so sent to a worker once and not with every query.
func (s *Shards) follows(r *request) {
	if b := r.encoded; len(b) >= leastShared {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.texts++
		for r.text = s.texts; r.shared < min(len(b), len(s.last)) && b[len(b)-1-r.shared] == s.last[len(s.last)-1-r.shared]; {
			r.shared++
		}
		s.last = b
	}
}

// leastShared is the length from which on a query is long.
const leastShared = 4096

// fits returns an error if a query or an answer of n bytes is too large for a message. The error comes before
// anything is sent, so that no worker is lost.
func fits(n int) error {
	if n > mostBody {
		return fmt.Errorf("shards: a question or its answer takes %d bytes: must take at most %d", n, mostBody)
	}
	return nil
}

// split returns the members of each partition, as row numbers within the partition, in the order of
// members.
func (s *Shards) split(members []int32) ([][]int32, error) {
	mine := make([][]int32, len(s.parts))
	for i := range mine {
		mine[i] = []int32{}
	}
	ends := make([]int, len(s.parts))
	for i, p := range s.parts {
		ends[i] = p.start + p.holds.rows
	}
	for _, m := range members {
		if m < 0 || int(m) >= s.length {
			return nil, errors.New("engine: members: must be numbers of the table's rows")
		}
		i, _ := slices.BinarySearch(ends, int(m)+1) // the first that ends after row m
		mine[i] = append(mine[i], m-int32(s.parts[i].start))
	}
	return mine, nil
}

// Close tells the workers that no query will follow, and waits until their connections are closed.
func (s *Shards) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if !closed {
		s.fail(errors.New("shards: are closed"))
		s.stop()
		s.accepted.Wait()
	}
	return nil
}
