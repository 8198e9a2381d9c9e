package wire

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestWaitsForAWorker tests until when a query waits for a partition's worker, in seconds of a clock that the test sets.
// The patience of 4 s begins when the partition has no worker that reads its rows, and begins again after each reading.
func TestWaitsForAWorker(t *testing.T) {
	type change struct {
		at, reading int // second, and by how much the number of workers that read changes
	}
	for name, c := range map[string]struct {
		reading int // at the start
		changes []change
		ready   int // the second in which a worker is ready; 0: none
		broken  int // the second in which the fit fails; 0: never
		cancel  int
		ends    int // the second in which the query ends
		want    string
	}{
		"nobody":                   {ends: 4, want: "shard 3: no worker for 4s"},
		"a reader that ends":       {reading: 1, changes: []change{{9, -1}}, ends: 13, want: "no worker"},
		"one of two readers ends":  {reading: 2, changes: []change{{1, -1}}, ready: 60, ends: 60},
		"a late reader":            {changes: []change{{3, 1}}, ready: 60, ends: 60},
		"a late reader that ends":  {changes: []change{{3, 1}, {20, -1}}, ends: 24, want: "no worker"},
		"readers now and then":     {changes: []change{{3, 1}, {5, -1}, {8, 1}, {9, -1}}, ends: 13, want: "no worker"},
		"a worker in time":         {ready: 3, ends: 3},
		"a worker at once":         {ready: 0, reading: -1, ends: 0},
		"a fit that fails":         {reading: 1, broken: 7, ends: 7, want: "failed"},
		"a caller that gives up":   {reading: 1, cancel: 8, ends: 8, want: "canceled"},
		"a caller beside patience": {cancel: 3, ends: 3, want: "canceled"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &Shards{config: Config{Patience: 4 * time.Second}, broken: make(chan struct{})}
			l := new(link)
			p := &part{number: 3, changed: make(chan struct{}), reading: max(c.reading, 0)}
			if c.reading < 0 {
				p.links = []*link{l, new(link)}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			after := func(second int, do func()) {
				if second > 0 {
					timer := time.AfterFunc(time.Duration(second)*time.Second, do)
					t.Cleanup(func() { timer.Stop() })
				}
			}
			for _, r := range c.changes {
				after(r.at, func() { p.reads(r.reading) })
			}
			after(c.ready, func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.links = append(p.links, l)
				p.change()
			})
			after(c.broken, func() { s.fail(errors.New("failed")) })
			after(c.cancel, cancel)
			start := time.Now()
			got, err := s.first(ctx, p)
			if took := time.Since(start); took != time.Duration(c.ends)*time.Second || (err == nil) != (c.want == "") ||
				err == nil && got != l || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v after %v: must be %q after %d s", name, err, took, c.want, c.ends)
			}
		})
	}
}

// served starts a worker with some rows at the other end of a link, whose answers a function returns; nil for none.
func served(t *testing.T, rows int, answers func(request) *result) *link {
	near, far := net.Pipe()
	worker := newConn(far)
	t.Cleanup(worker.close)
	l := newLink(newConn(near))
	go l.listen()
	go func() {
		for {
			k, body, err := worker.receive()
			if err != nil {
				return
			}
			if id, body, err := readNumber(body); k == ask && err == nil {
				if q, err := readRequest(body, rows); err == nil {
					if r := answers(q); r != nil {
						worker.send(answer, numbered(id, r.body()))
					}
				}
			}
		}
	}()
	return l
}

// TestATellingThatFails tests that a worker counts as told of a form only if it has answered so: not if it refuses, is
// gone, or has not answered when the query is cancelled. It is told again before the next question.
func TestATellingThatFails(t *testing.T) {
	refuses := errors.New("the column age is not there")
	for name, c := range map[string]struct {
		answer *result
		gone   bool
		want   string
	}{
		"refuses": {answer: &result{err: refuses}, want: refuses.Error()},
		"gone":    {gone: true, want: errGone.Error()},
		"silent":  {want: context.DeadlineExceeded.Error()},
	} {
		told := 0
		l := served(t, 0, func(q request) *result { told++; return c.answer })
		l.gone = c.gone
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if name == "silent" {
			ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		}
		defer cancel()
		for range 2 {
			if err := l.refined(ctx, &rowForm{configuration: []byte("{}"), dim: 3}); err == nil || err.Error() != c.want {
				t.Errorf("%s: %v: must be %q", name, err, c.want)
			}
		}
		if l.form != nil || name == "refuses" && told != 2 {
			t.Errorf("%s: told %d times, form %v", name, told, l.form)
		}
	}
}

// TestTagsInMessages tests how many tags of units a worker is asked for at once: those of all partitions are at most 2^22,
// each message has at most 2^16, and at least 64 however many partitions there are. Each tag is asked for once.
func TestTagsInMessages(t *testing.T) {
	for _, c := range []struct {
		partitions, tags int
		want             []int
	}{
		{1, 1<<16 + 3, []int{1 << 16, 3}},
		{64, 1 << 16, []int{1 << 16}},
		{128, 1<<15 + 1, []int{1 << 15, 1}},
		{1 << 17, 150, []int{64, 64, 22}},
	} {
		var counts []int
		next := 0
		l := served(t, c.tags, func(q request) *result {
			if q.what != asksTags || q.from != next {
				t.Errorf("asked for %d tags from %d: must be from %d", q.count, q.from, next)
			}
			counts, next = append(counts, q.count), next+q.count
			var tags []Tag
			for i := range q.count {
				tags = append(tags, Tag{uint64(q.from + i), 7})
			}
			return &result{sum: tagNumbers(tags)}
		})
		s := &Shards{config: Config{Patience: time.Minute}, broken: make(chan struct{})}
		s.form.Store(new(rowForm))
		for range c.partitions {
			s.parts = append(s.parts, new(part))
		}
		s.parts[c.partitions/2] = &part{links: []*link{l}, changed: make(chan struct{}), holds: readyMessage{rows: c.tags}}
		if err := s.disjoint(t.Context()); err != nil || !slices.Equal(counts, c.want) {
			t.Errorf("%d partitions: %v, asked for %v tags: must be %v", c.partitions, err, counts, c.want)
		}
	}
}

// TestTagsThatDoNotArrive tests that a comparison of units ends with the error of a worker that refuses to send its tags,
// the first of them or later ones: tags that are not compared may be of a unit that another partition has, too.
func TestTagsThatDoNotArrive(t *testing.T) {
	refuses := errors.New("no tags")
	for fails := range 3 {
		messages := 0
		l := served(t, 100_000, func(q request) *result {
			if messages++; messages > fails {
				return &result{err: refuses}
			}
			var tags []Tag
			for i := range q.count {
				tags = append(tags, Tag{uint64(q.from + i), 7})
			}
			return &result{sum: tagNumbers(tags)}
		})
		s := &Shards{config: Config{Patience: time.Minute}, broken: make(chan struct{})}
		s.form.Store(new(rowForm))
		s.parts = []*part{{links: []*link{l}, changed: make(chan struct{}), holds: readyMessage{rows: 100_000}}}
		err := s.disjoint(t.Context()) // two messages
		if (err == nil) != (fails == 2) || err != nil && err.Error() != refuses.Error() {
			t.Errorf("%d messages of tags arrive: %v", fails, err)
		}
		c := &cursor{of: s.parts[0]}
		if more, err := c.fetch(t.Context(), s, 1); more || err == nil {
			t.Errorf("a tag that is refused: %v, %v", more, err)
		}
	}
}

// TestASlowPeerGetsTheSum tests that the silence that a worker allows another one ends with its question: a sum may be read
// for longer. One that asks nothing for so long, or for another sum, gets none.
func TestASlowPeerGetsTheSum(t *testing.T) {
	const silence = 30 * time.Second
	for name, c := range map[string]struct {
		id    uint64
		sum   string
		first time.Duration // until the question
		reads time.Duration // from the question until the answer is read
		gets  bool
	}{
		"slow":        {3, "name", 0, 5 * silence, true},
		"silent":      {3, "name", 5 * silence, 0, false},
		"another sum": {4, "name", 0, 0, false},
		"by guess":    {3, "names", 0, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &worker{ctx: t.Context(), silence: silence}
			w.kept.Store(&kept{3, "name", []int64{5, 6}})
			near, far := net.Pipe()
			done := make(chan struct{})
			go func() { defer close(done); w.lend(far) }()
			peer := newConn(near)
			time.Sleep(c.first)
			err := peer.send(ask, numbered(c.id, []byte(c.sum)))
			time.Sleep(c.reads)
			if err == nil {
				var body []byte
				if _, body, err = peer.receive(); err == nil {
					if r, bad := readResult(body, 2); bad != nil || !slices.Equal(r.sum, []int64{5, 6}) {
						t.Errorf("%s: %v, %v", name, r.sum, bad)
					}
				}
			}
			if (err == nil) != c.gets {
				t.Errorf("%s: %v", name, err)
			}
			peer.close()
			<-done
		})
	}
}

// TestQuestionsThatCannotBeSent tests that a question or pass that has no encoding is an error before any worker is asked: an
// answer of zeros would be a wrong one.
func TestQuestionsThatCannotBeSent(t *testing.T) {
	s := &Shards{config: Config{Patience: time.Minute, Loss: loss.Logistic()}, broken: make(chan struct{}), parts: []*part{new(part)}}
	s.form.Store(new(rowForm))
	if sum, err := s.Sum(t.Context(), query.Question{}, 1, nil); err == nil || sum.Residual != nil {
		t.Errorf("a question that no one made: %v, %v", sum, err)
	}
	if average, err := s.Average(t.Context(), query.Pass{}, 1, nil); err == nil || average != nil {
		t.Errorf("a pass without a start: %v, %v", average, err)
	}
	if s.parts = append(s.parts, new(part)); s.Ordered() {
		t.Error("rows of two partitions have an order")
	}
	if _, err := s.Average(t.Context(), query.Pass{}, 1, nil); err != engine.ErrOrder {
		t.Errorf("a pass over two partitions: %v", err)
	}
}
