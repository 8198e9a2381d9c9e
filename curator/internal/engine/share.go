package engine

import (
	"context"
	"sync"
)

// share is one goroutine's part of a sum. It outlives its goroutine: a loss that
// panics on a record, or ends the goroutine, makes that record faulty and nothing
// else, and another goroutine goes on with the next one.
type share struct {
	pass
	tiles tiling
	turns turns
	ended *sync.WaitGroup
	done  bool
	// unread is why rows could not be read.
	unread error
}

// work takes pieces until there are none left.
func (s *share) work(ctx context.Context) {
	defer s.survive(ctx)
	for ctx.Err() == nil {
		if len(s.rows.Targets) == 0 {
			t, ok := s.turns.take()
			if !ok {
				break
			}
			if s.rows, s.unread = s.tiles.at(t, s.turns.after, &s.pass); s.unread != nil {
				break
			}
		}
		s.run()
	}
	s.done = true
}

// survive is called when work returns, and when the loss stopped it.
func (s *share) survive(ctx context.Context) {
	if s.done {
		s.ended.Done()
		return
	}
	// What a loss panics with may carry a record's values: it is dropped.
	_ = recover()
	s.stopped()
	go s.work(ctx)
}

// run adds the rows at hand, a tile at a time. Whatever calls a loss does so
// before it adds anything, so that a tile that was stopped can be taken again.
// A general loss is called for one record at a time in any case.
func (p *pass) run() {
	for len(p.rows.Targets) > 0 {
		p.trying = min(tileRows, len(p.rows.Targets))
		if p.alone > 0 || p.general != nil {
			p.trying = 1
		}
		b := p.layout.Cut(p.rows, 0, p.trying)
		switch {
		case p.general != nil:
			p.general.add(p, p.writer.out(b), b.Targets[0])
		case p.stacked != nil:
			p.stacked.tile(p, b)
		default:
			p.tile(b)
		}
		p.passed()
	}
}

// passed counts what was tried and moves on.
func (p *pass) passed() {
	n := p.trying
	p.rows = p.layout.Cut(p.rows, n, len(p.rows.Targets))
	if p.long != nil {
		p.long = p.long[n:]
	}
	p.seen += int64(n)
	p.alone = max(p.alone-n, 0)
}

// stopped deals with what was tried when the loss stopped: one record is faulty;
// a tile is taken again, record by record, to learn which.
func (p *pass) stopped() {
	if p.trying > 1 {
		p.alone = p.trying
		return
	}
	if p.number {
		p.acc[0] += Round(float64(p.absent * p.scale))
	}
	p.passed()
}
