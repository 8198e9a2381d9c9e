package kernel

import (
	"context"
	"errors"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Select returns the index of a candidate of low score, drawn by the
// exponential mechanism with secret coins. Its event is reserved before anything
// is computed and stays reserved whatever happens. A session without noise
// returns the first of the lowest scores.
func (s *Session) Select(ctx context.Context, sel query.Selection) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	questions := sel.Questions()
	if len(questions) == 0 {
		return 0, errors.New("curator: selection: must be made by query.NewSelection")
	}
	cohort := questions[0].Cohort()
	var members []int32
	if err := s.pointed(questions[0]); err != nil {
		return 0, err
	}
	if cohort != s.All() {
		var err error
		if members, err = s.drawn(cohort); err != nil {
			return 0, err
		}
	} else if s.isClosed() {
		return 0, ErrClosed
	}
	// At charge 1 a score, in grid steps, has the sensitivity 2^bits. All
	// candidates have the same clip, hence the same grid.
	g, err := newGrid(questions[0], s.ledger.Budget().Relation(), s.mostRows())
	if err != nil {
		return 0, err
	}
	shifts := make([][]int64, len(questions))
	for i, q := range questions {
		if shifts[i], err = shifted(q, g); err != nil {
			return 0, err
		}
	}
	event, err := account.SelectionEvent(sel.Name(), cohort.ID(), sel.Epsilon())
	if err != nil {
		return 0, err
	}
	event.Simulated = s.simulated
	if err := s.ledger.Reserve(event); err != nil {
		return 0, err
	}
	scores := make([]int64, len(questions))
	for i, q := range questions {
		answer, err := s.sum(ctx, q, g.scale, members)
		if err != nil {
			return 0, err
		}
		scores[i] = answer[0]
		if shifts[i] != nil {
			scores[i] = norm(answer, shifts[i])
		}
	}
	x := s.watch(sel, members, event, g)
	x.scores(scores)
	return released(x, s.draw(scores, sel.Epsilon(), g.bits))
}

// draw returns i with probability proportional to
// exp(-epsilon scores[i]/2^(bits+1)), exactly.
func (s *Session) draw(scores []int64, epsilon float64, bits int) int {
	rates := newRates(scores, epsilon, bits+1)
	if s.noiseless {
		return rates.first()
	}
	s.mu.Lock()
	coins := s.coins.Fork()
	s.mu.Unlock()
	return rates.draw(&fair{source: coins})
}

func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}
