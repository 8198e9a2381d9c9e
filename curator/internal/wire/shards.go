package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Config describes the shards of a table.
type Config struct {
	// Count is the number of partitions, at least one.
	Count int
	// Loss is the loss, and Dim the number of features of a row.
	Loss loss.Loss
	Dim  int
	// Version is the version of the program. Workers of another version are refused.
	Version string
	// Key and Configuration are sent to the workers, as arguments of their function [Build]. Key is the key
	// of this session, from which the keys of digests and tags are derived.
	Key           [32]byte
	Configuration []byte
	// Silence is the time for which a worker may send nothing before it counts as lost. Patience is
	// the time for which a query waits for another worker of a partition.
	Silence, Patience time.Duration
	// Units says that records are units, of which none may be in two partitions. Gather then compares
	// the units' tags, which are keyed identifiers.
	Units bool
	// Told, if not nil, is called when a worker of a partition becomes ready, and when a partition loses
	// its last ready worker. It must not block.
	Told func(Event)
	// Held bounds the bytes of shards' sums that the session receives at the same time; 0 means mostHeld.
	Held int
}

// Event reports a change in whether a partition has a ready worker. It reveals nothing about rows.
type Event struct {
	Partition int
	// Ready is true if a worker of the partition became ready, and false if the partition's last
	// ready worker is lost.
	Ready bool
}

// ErrOther reports that a worker holds other rows than the earlier worker of its partition, or the
// same rows in another order.
var ErrOther = errors.New("must have the same rows in the same order as before: the fit cannot go on")

// ErrTwice reports that two partitions have the same rows in the same order, as when a file is given to two workers.
// Every record would count twice, and each sum move by twice of what is charged. The text reveals neither the
// partitions nor a number. Partitions without rows are alike and no error.
var ErrTwice = errors.New("shards: two partitions hold the same rows in the same order: each row must be in one partition " +
	"(was a file given to two workers?)")

// Shards is the engine of a table whose partitions are held by workers. Rows are numbered partition by
// partition, in the order of the partitions. Each partition has at most 2^31 - 1 rows. All of them together
// may have more. Members are then numbers of the first 2^31 rows, since they are of type int32.
type Shards struct {
	config   Config
	form     atomic.Pointer[rowForm]
	length   int
	parts    []*part
	accepted sync.WaitGroup
	stop     context.CancelFunc

	mu     sync.Mutex
	failed error         // the error that ended the fit; nil before
	broken chan struct{} // closed when failed is set
	closed bool
	secret *coin.Secret // for the keys of pads
	last   []byte       // the last long query that was sent, encoded, and how many were sent
	texts  uint64

	trees sync.Mutex // held while workers add up sums; guards tree
	tree  uint64     // the number of the last query whose sums workers added up
}

// rowForm is the form of the rows that workers answer about.
type rowForm struct {
	// configuration is sent to a worker before its first query about rows of this form. It is nil if the
	// configuration that the worker began with is this form's.
	configuration []byte
	dim           int // number of features of a row
	parameters    int
}

// part is a partition and its workers.
type part struct {
	number int
	start  int // the number of its first row

	mu sync.Mutex
	// known is true once holds is set, from the first worker's message ready.
	known bool
	holds readyMessage
	// links are the partition's ready workers, the first of which is asked. reading is the number of workers that are
	// reading their rows. changed is closed and replaced when a worker is added or reading changes.
	links   []*link
	reading int
	changed chan struct{}
}

// mostWorkers is the largest number of workers that may hold the same partition: one answers, and the other takes
// its place if it is lost.
const mostWorkers = 2

// Gather returns the engine once every partition has a ready worker. accept must return the next connection, from a
// worker that has proved its identity (package mutualtls), and must return an error once its context has ended. Gather
// keeps calling accept until the engine is closed or accept returns an error. Such an error makes all queries fail.
func Gather(ctx context.Context, c Config, accept func(context.Context) (io.ReadWriteCloser, error)) (*Shards, error) {
	parameters, err := loss.Check(c.Loss, c.Dim)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if c.Count < 1 || c.Count > mostPartitions {
		return nil, fmt.Errorf("shards: %d: must be between 1 and %d", c.Count, mostPartitions)
	}
	inner, stop := context.WithCancel(context.Background())
	secret, err := coin.NewSecret()
	if err != nil {
		stop()
		return nil, err
	}
	s := &Shards{config: c, stop: stop, broken: make(chan struct{}), secret: secret}
	s.form.Store(&rowForm{dim: c.Dim, parameters: parameters})
	for i := range c.Count {
		s.parts = append(s.parts, &part{number: i, changed: make(chan struct{})})
	}
	s.accepted.Go(func() {
		for {
			rw, err := accept(inner)
			if err != nil {
				if inner.Err() == nil {
					s.fail(fmt.Errorf("shards: %w", err))
				}
				return
			}
			s.accepted.Go(func() { s.meet(inner, newConn(rw)) })
		}
	})
	for _, p := range s.parts {
		if _, err := s.first(ctx, p); err != nil {
			s.Close()
			return nil, err
		}
	}
	total := 0
	for _, p := range s.parts {
		p.start = total
		if p.holds.rows > math.MaxInt-total {
			s.Close()
			return nil, errors.New("curator: the table has more rows than this machine has numbers for")
		}
		total += p.holds.rows
	}
	s.length = total
	if s.twice() {
		s.Close()
		return nil, ErrTwice
	}
	if c.Units {
		if err := s.disjoint(ctx); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// twice reports whether two partitions with rows have the same digest.
func (s *Shards) twice() bool {
	seen := map[Digest]bool{}
	for _, p := range s.parts {
		if p.holds.rows > 0 && seen[p.holds.digest] {
			return true
		}
		seen[p.holds.digest] = seen[p.holds.digest] || p.holds.rows > 0
	}
	return false
}

// fail makes later queries, and queries that wait for a worker, fail with the error. Only the first call
// has an effect.
func (s *Shards) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
		close(s.broken)
	}
}

// meet exchanges messages with a worker until the worker is gone. Whoever connects has proved that it has the session's
// key. A worker of another version, or of a partition that does not exist, is sent away with an error. A worker that
// reports a fault, or holds other rows than the partition's first worker, makes all queries of the session fail.
func (s *Shards) meet(ctx context.Context, m *conn) {
	defer m.close()
	defer context.AfterFunc(ctx, func() {
		time.AfterFunc(time.Second, m.close)
		m.send(end, nil)
	})()
	m.watch(s.config.Silence)
	p, err := s.introduced(m)
	if err != nil {
		m.dismiss(fault, []byte(err.Error()))
		return
	}
	if p == nil {
		m.dismiss(end, nil)
		return
	}
	l := s.readied(p, m)
	if l == nil {
		return
	}
	l.listen()
	s.lose(p, l)
}

// readied waits until a worker has read its rows, and adds the worker to its partition. readied
// returns nil if the worker is lost before that, is not needed any more, or ends the fit.
func (s *Shards) readied(p *part, m *conn) *link {
	p.reads(1)
	defer p.reads(-1)
	k, body, err := m.receive()
	if err != nil {
		return nil
	}
	if k == fault {
		s.fail(fmt.Errorf("shard %d: %s", p.number, body))
		return nil
	}
	h, err := read[readyMessage](body)
	if k != ready || err != nil {
		return nil
	}
	l := newLink(m)
	switch s.add(p, l, h) {
	case errSpare:
		m.dismiss(end, nil)
	case ErrOther:
		s.fail(fmt.Errorf("shard %d: %w", p.number, ErrOther))
	case errDim:
		s.fail(fmt.Errorf("shard %d: its rows have another number of features than the fit's", p.number))
	default:
		return l
	}
	return nil
}

// lose removes a worker that is gone. If the partition has no worker left, lose reports this by tell,
// unless the fit has ended. Both the goroutine that listens to the worker and a goroutine that asks it may
// call lose. Only the first call has an effect.
func (s *Shards) lose(p *part, l *link) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drop(l) && !closed {
		s.tell(Event{p.number, false})
	}
}

// tell reports an event to the caller of Gather. It is called under the lock of the event's
// partition, so that events are reported in the order in which the partition changes.
func (s *Shards) tell(e Event) {
	if s.config.Told != nil {
		s.config.Told(e)
	}
}

// introduced receives the message hello and sends the configuration. It returns the worker's partition, or nil if the
// worker is not needed. It returns an error if the worker's version or partition number does not fit the session.
func (s *Shards) introduced(m *conn) (*part, error) {
	k, body, err := m.receive()
	if err != nil {
		return nil, err
	}
	if k != hello {
		return nil, errMessage
	}
	h, err := read[Hello](body)
	switch {
	case err != nil:
		return nil, err
	case h.Version != s.config.Version:
		return nil, fmt.Errorf("shard %d: version %q: must be the fit's, %q", h.Partition, h.Version, s.config.Version)
	case h.Partition >= len(s.parts):
		return nil, fmt.Errorf("shard %d: partition: must be below the number of shards, %d", h.Partition, len(s.parts))
	}
	p := s.parts[h.Partition]
	if p.full() {
		return nil, nil
	}
	return p, m.send(configure, setup{s.config.Silence, s.config.Key, s.config.Configuration}.body())
}

var (
	errSpare = errors.New("wire: enough workers")
	errDim   = errors.New("wire: another dimension")
)

func (p *part) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links) >= mostWorkers
}

// add adds a worker that is ready to its partition. It returns an error if the worker has other
// features or rows than the partition's first worker, or is not needed. add reports that the
// partition is ready before a query can reach the worker.
func (s *Shards) add(p *part, l *link, h readyMessage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case h.dim != s.config.Dim:
		return errDim
	case p.known && h != p.holds:
		return ErrOther
	case len(p.links) >= mostWorkers:
		return errSpare
	}
	if !p.known {
		p.known, p.holds = true, h
	}
	s.tell(Event{p.number, true})
	p.links = append(p.links, l)
	p.change()
	return nil
}

// change wakes the goroutines that wait for a change of the partition. The caller holds the partition's lock.
func (p *part) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// reads adds n to the number of workers that are reading their rows.
func (p *part) reads(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reading += n
	p.change()
}

// drop removes a worker that is gone. It reports whether the partition has thereby lost its last
// worker. The caller holds the partition's lock.
func (p *part) drop(l *link) bool {
	for i, other := range p.links {
		if other == l {
			p.links = append(p.links[:i:i], p.links[i+1:]...)
			return len(p.links) == 0
		}
	}
	return false
}

// first returns the partition's first ready worker. If the partition has none, first waits for one. While a
// worker reads its rows, first waits without limit, since the time for reading depends on the number of
// rows. While no worker reads, first waits for the time Patience and then returns an error.
func (s *Shards) first(ctx context.Context, p *part) (*link, error) {
	var timer *time.Timer
	for {
		p.mu.Lock()
		links, reading, changed := p.links, p.reading, p.changed
		p.mu.Unlock()
		if err := s.failure(); err != nil {
			return nil, err
		}
		if len(links) > 0 {
			return links[0], nil
		}
		var over <-chan time.Time
		switch {
		case reading == 0 && timer == nil:
			timer = time.NewTimer(s.config.Patience)
			defer timer.Stop()
		case reading > 0 && timer != nil:
			timer.Stop()
			timer = nil
		}
		if timer != nil {
			over = timer.C
		}
		select {
		case <-changed:
		case <-s.broken:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-over:
			return nil, fmt.Errorf("shard %d: no worker for %v: must have one again within that "+
				"time", p.number, s.config.Patience)
		}
	}
}

func (s *Shards) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Len returns the number of rows of all partitions.
func (s *Shards) Len() int { return s.length }

// Dim returns the number of features of a row.
func (s *Shards) Dim() int { return s.form.Load().dim }

// Loss returns the loss.
func (s *Shards) Loss() loss.Loss { return s.config.Loss }

// Parameters returns the number of parameters.
func (s *Shards) Parameters() int { return s.form.Load().parameters }

// Refine makes later queries ask about the same rows with features that workers compute by another configuration, dim
// of them. It sends nothing itself. A worker is sent the configuration before the first of these queries that it gets,
// and so is a worker that takes its place: it reads its rows by the first configuration, so that the digest of its rows
// is compared with the digest of the worker before. No query may be unanswered while Refine runs.
func (s *Shards) Refine(configuration []byte, dim int) error {
	parameters, err := loss.Check(s.config.Loss, dim)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if err := fits(len(configuration) + 1); err != nil {
		return err
	}
	s.form.Store(&rowForm{configuration, dim, parameters})
	return nil
}

// Ordered reports whether passes of SGD can be made. The steps of a pass depend on each other, so
// all rows must be in one partition.
func (s *Shards) Ordered() bool { return len(s.parts) == 1 }
