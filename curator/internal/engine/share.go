package engine

import (
	"context"
	"sync"
)

// share is the part of a sum that one goroutine computes. A share outlives its goroutine. If a loss
// panics on a record or ends the goroutine, only that record is dropped as faulty, and another
// goroutine continues with the next record.
type share struct {
	pass
	tiles tiling
	turns turns
	ended *sync.WaitGroup
	done  bool
	// unread is the error of a failed read.
	unread error
}

// work processes pieces until none is left, a read fails or the context ends.
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
	s.let()
	s.done = true
}

// survive is called when work returns, and when the loss has panicked or ended the goroutine. In the second
// case it handles the current tile (see stopped) and starts another goroutine.
func (s *share) survive(ctx context.Context) {
	if s.done {
		s.ended.Done()
		return
	}
	// The value of a panic in the loss may contain a record's values, so it is dropped.
	_ = recover()
	s.stopped()
	go s.work(ctx)
}

// run adds the contributions of the rows of the current piece, one tile of rows at a time. It calls
// the loss for a tile before it adds anything, so that a tile in which the loss panicked can be
// repeated. A general loss, and the loss of a weighted kind, is always called for one record at a
// time.
func (p *pass) run() {
	for len(p.rows.Targets) > 0 {
		p.trying = min(tileRows, len(p.rows.Targets))
		switch {
		case p.fused != nil: // its losses do not panic
			p.trying = len(p.rows.Targets)
		case p.stacked != nil:
			p.trying = min(p.trying, p.stacked.rows)
		}
		if p.alone > 0 || p.general != nil || p.weighted != nil {
			p.trying = 1
		}
		b := p.layout.Cut(p.rows, 0, p.trying)
		switch {
		case p.fused != nil:
			p.fused.piece(p, b)
		case p.weighted != nil:
			p.weighted.add(p, p.writer.out(b), b.Targets[0])
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

// passed counts the rows of the current tile and removes them from the piece.
func (p *pass) passed() {
	n := p.trying
	p.rows = p.layout.Cut(p.rows, n, len(p.rows.Targets))
	if p.long != nil {
		p.long = p.long[n:]
	}
	if p.steep != nil {
		p.steep = p.steep[n:]
	}
	p.seen += int64(n)
	p.alone = max(p.alone-n, 0)
}

// stopped handles a tile in which the loss panicked or ended the goroutine. If the tile is a single record,
// the record is faulty and contributes as a malformed record does. A larger tile will be repeated record by
// record, to find the faulty record.
func (p *pass) stopped() {
	if p.trying > 1 {
		p.alone = p.trying
		return
	}
	if p.number {
		p.acc[0] += Round(p.faultySteps())
	}
	p.passed()
}
