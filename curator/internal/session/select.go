package session

import (
	"context"
	"errors"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Select returns the index of a candidate with a low score, drawn by the exponential mechanism with
// secret random bits. Its event is reserved in the ledger before anything is computed and is never
// given back. A session without noise returns the first candidate with the lowest score.
func (s *Session) Select(ctx context.Context, sel query.Selection) (int, error) {
	return through(ctx, s, func() (release[int], error) { return s.selection(sel) })
}

// selection describes the release of a selection's answer, before anything is computed.
func (s *Session) selection(sel query.Selection) (r release[int], err error) {
	questions := sel.Questions()
	if len(questions) == 0 {
		return r, errors.New("curator: selection: must be made by query.NewSelection")
	}
	if err := s.pointed(questions[0]); err != nil {
		return r, err
	}
	cohort := questions[0].Cohort()
	members, err := s.rowsOf(cohort)
	if err != nil {
		return r, err
	}
	// The candidates' questions offer the charge 1. On the grid for this charge, the sensitivity of a score
	// is at most 2^bits steps. All candidates have the same clip norm, hence the same grid.
	g, err := newGrid(questions[0], s.ledger.Budget().Relation(), s.mostRows())
	if err != nil {
		return r, err
	}
	score, err := scoring(g, questions...)
	if err != nil {
		return r, err
	}
	if score == nil {
		score = func(_ int, sum []int64) int64 { return sum[0] }
	}
	event, err := account.SelectionEvent(sel.Name(), cohort.ID(), sel.Epsilon())
	if err != nil {
		return r, err
	}
	return release[int]{
		asked: sel, members: members, grid: g, event: event, sums: questions, scale: g.scale, score: score,
		answer: func(scores []int64, n *noises) int { return n.draw(scores, sel.Epsilon(), g.bits) },
	}, nil
}

// draw returns an index i with probability exactly proportional to exp(-epsilon scores[i]/2^(bits+1)). In a
// session without noise it returns the first index with the lowest score.
func (n *noises) draw(scores []int64, epsilon float64, bits int) int {
	rates := newRates(scores, epsilon, bits+1)
	coins := n.coins()
	if coins == nil {
		return rates.first()
	}
	return rates.draw(&fair{source: coins})
}
