package account

import (
	"context"
	"sync"
)

// mostHeld is the number of answers that a memo holds.
const mostHeld = 256

// memo holds the latest answers to questions, at most mostHeld. It forgets the oldest first. The zero memo is
// ready to use.
type memo[Q comparable, A any] struct {
	mu      sync.Mutex
	answers map[Q]A
	order   []Q
}

// find returns the answer to a question: the one held, or else the one that search returns, which is then
// held. An error is not held.
func (m *memo[Q, A]) find(ctx context.Context, q Q, search func() (A, error)) (A, error) {
	if err := ctx.Err(); err != nil {
		var none A
		return none, err
	}
	m.mu.Lock()
	held, ok := m.answers[q]
	m.mu.Unlock()
	if ok {
		return held, nil
	}
	found, err := search()
	if err == nil {
		m.hold(q, found)
	}
	return found, err
}

func (m *memo[Q, A]) hold(q Q, a A) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers == nil {
		m.answers = map[Q]A{}
	}
	if _, ok := m.answers[q]; !ok {
		m.order = append(m.order, q)
	}
	m.answers[q] = a
	if len(m.order) > mostHeld {
		delete(m.answers, m.order[0])
		m.order = m.order[1:]
	}
}
