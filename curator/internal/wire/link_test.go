package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestLateAnswer tests that an answer that arrives after nobody waits for it any more is dropped. The
// next query gets its own answer, and no other.
func TestLateAnswer(t *testing.T) {
	near, far := net.Pipe()
	m, worker := newConn(near), newConn(far)
	defer worker.close()
	l := newLink(m)
	go l.listen()
	var ids []uint64
	asked := make(chan bool)
	go func() {
		for {
			k, body, err := worker.receive()
			if err != nil {
				return
			}
			if id, _, err := readNumber(body); k == ask && err == nil {
				ids = append(ids, id)
				asked <- true
			}
		}
	}()
	ctx, stop := context.WithCancel(context.Background())
	go func() { <-asked; stop() }()
	if _, err := l.ask(ctx, request{}, 0, 1); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	go func() {
		<-asked
		worker.send(answer, numbered(ids[0], result{sum: []int64{1}}.body()))
		worker.send(answer, numbered(ids[1], result{sum: []int64{2}}.body()))
	}()
	r, err := l.ask(context.Background(), request{}, 0, 1)
	if err != nil || len(r.sum) != 1 || r.sum[0] != 2 {
		t.Errorf("%v, %v: must be 2", r.sum, err)
	}
}

// answering starts a worker at the other end of a link that answers every question with one number, which dim
// returns, and returns the link and the configurations that the worker is told.
func answering(t *testing.T, dim func(configuration string) int64) (*link, <-chan string) {
	near, far := net.Pipe()
	worker := newConn(far)
	t.Cleanup(worker.close)
	l := newLink(newConn(near))
	go l.listen()
	told := make(chan string, 9)
	go func() {
		for {
			k, body, err := worker.receive()
			if err != nil {
				return
			}
			if id, body, err := readNumber(body); k == ask && err == nil {
				q, err := readRequest(body, 0)
				if err != nil {
					return
				}
				told <- string(q.encoded)
				worker.send(answer, numbered(id, result{sum: []int64{dim(string(q.encoded))}}.body()))
			}
		}
	}()
	return l, told
}

// TestRefinedDimension tests that a worker that computes other features than it is told is refused, and that one that
// computes as many is told once.
func TestRefinedDimension(t *testing.T) {
	for dim, want := range map[int64]error{3: nil, 4: errDim} {
		l, told := answering(t, func(string) int64 { return dim })
		refined := &rowForm{configuration: []byte("{}"), dim: 3}
		for range 2 {
			if err := l.refined(context.Background(), refined); err != want {
				t.Errorf("%d features of 3: %v: must be %v", dim, err, want)
			}
		}
		if n := len(told); (want == nil) != (n == 1) {
			t.Errorf("%d features of 3: told %d times", dim, n)
		}
	}
}

// TestARefusedFormIsNoAnswer tests that a question to a partition whose worker computes other features, or that is
// cancelled while its worker is told of the form, is an error: a sum of zeros would be a wrong answer.
func TestARefusedFormIsNoAnswer(t *testing.T) {
	for _, dim := range []int64{3, 4} {
		for _, cancelled := range []bool{false, true} {
			l, _ := answering(t, func(string) int64 { return dim })
			s := &Shards{config: Config{Patience: time.Minute}, broken: make(chan struct{})}
			s.form.Store(&rowForm{configuration: []byte("{}"), dim: 3})
			p := &part{links: []*link{l}, changed: make(chan struct{})}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			want := map[int64]error{3: nil, 4: errDim}[dim]
			if cancelled {
				cancel()
				want = context.Canceled
			}
			got, err := s.askOne(ctx, p, request{}, 1)
			if err != want && !cancelled || cancelled && err == nil && len(got.sum) == 0 || err == nil && got.sum[0] != dim {
				t.Errorf("%d features of 3, cancelled %v: %v, %v: must be %v", dim, cancelled, got.sum, err, want)
			}
		}
	}
}

// TestEveryFormIsTold tests that a worker that has answered about rows of one form is told each form that follows,
// that of before included, once each.
func TestEveryFormIsTold(t *testing.T) {
	forms := []*rowForm{{configuration: []byte("a"), dim: 1}, {configuration: []byte("b"), dim: 2}, {configuration: []byte("a"), dim: 1}}
	l, told := answering(t, func(text string) int64 { return int64(text[0]-'a') + 1 })
	for i, f := range forms {
		for range 3 { // before each question
			if err := l.refined(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		if len(told) != 1 {
			t.Fatalf("form %d: told %d times: must be once", i, len(told))
		}
		if got := <-told; got != string(f.configuration) {
			t.Errorf("form %d: told %q: must be %q", i, got, f.configuration)
		}
	}
}

// TestALostWorkerIsToldOnce tests that the loss of a partition's last worker is reported once,
// whether the goroutine that listens or a goroutine that waits for an answer notices first. Engines
// that start workers wait for this event.
func TestALostWorkerIsToldOnce(t *testing.T) {
	for _, first := range []string{"asks", "listens", "closed"} {
		near, far := net.Pipe()
		far.Close()
		var told []Event
		s := &Shards{config: Config{Patience: time.Millisecond, Told: func(e Event) { told = append(told, e) }},
			broken: make(chan struct{})}
		s.form.Store(new(rowForm))
		l := newLink(newConn(near))
		p := &part{number: 4, links: []*link{l}, changed: make(chan struct{})}
		want := 1
		switch first {
		case "listens":
			l.listen()
			s.lose(p, l)
		case "closed":
			s.closed, want = true, 0
		}
		if _, err := s.askOne(context.Background(), p, request{}, 1); err == nil ||
			!strings.Contains(err.Error(), "no worker") {
			t.Errorf("%s first: asked: %v", first, err)
		}
		l.listen()
		s.lose(p, l)
		if len(told) != want || want == 1 && told[0] != (Event{Partition: 4}) {
			t.Errorf("%s first: told %v", first, told)
		}
	}
}

// TestReadyIsToldFirst tests that a partition is reported as ready before a query can reach its
// worker, and so before the worker can be reported as lost.
func TestReadyIsToldFirst(t *testing.T) {
	p := &part{number: 2, changed: make(chan struct{})}
	var told []Event
	s := &Shards{config: Config{Dim: 3}, parts: []*part{nil, nil, p}}
	s.config.Told = func(e Event) {
		if told = append(told, e); e.Ready && len(p.links) > 0 {
			t.Error("the worker can be asked before it is told")
		}
	}
	near, far := net.Pipe()
	far.Close()
	l := newLink(newConn(near))
	if err := s.add(p, l, readyMessage{rows: 5, dim: 3}); err != nil || len(p.links) != 1 {
		t.Fatalf("%d links, %v", len(p.links), err)
	}
	s.lose(p, l)
	if want := []Event{{2, true}, {2, false}}; !slices.Equal(told, want) {
		t.Errorf("told %v: must be %v", told, want)
	}
}

// TestTooLong tests that a query whose answer is too large for a message is refused, and that no
// worker is lost by it.
func TestTooLong(t *testing.T) {
	s := &Shards{parts: []*part{{}}}
	if _, err := s.ask(context.Background(), request{}, nil, mostBytes/8); err == nil ||
		!strings.Contains(err.Error(), "at most") {
		t.Errorf("asked: %v", err)
	}
	if fits(mostBody) != nil || fits(mostBody+1) == nil {
		t.Error("the limit is another")
	}
}

// TestALostWorkerOfTwo tests that the loss of a worker is not reported while another of its partition is left, and that a
// worker that is lost already changes nothing.
func TestALostWorkerOfTwo(t *testing.T) {
	var told []Event
	s := &Shards{config: Config{Told: func(e Event) { told = append(told, e) }}}
	a, b, other := new(link), new(link), new(link)
	p := &part{number: 4, links: []*link{a, b}, changed: make(chan struct{})}
	for i, c := range []struct {
		lost *link
		left []*link
		told int
	}{{other, []*link{a, b}, 0}, {a, []*link{b}, 0}, {a, []*link{b}, 0}, {b, nil, 1}, {b, nil, 1}} {
		if s.lose(p, c.lost); !slices.Equal(p.links, c.left) || len(told) != c.told {
			t.Errorf("loss %d: %d links, told %v", i, len(p.links), told)
		}
	}
}

// TestMessagesAtTheirLimits tests that a message whose length is stated as too large is refused before it is read, and that
// numbers of partitions outside of their limits are refused.
func TestMessagesAtTheirLimits(t *testing.T) {
	for _, n := range []uint32{mostBytes, mostBytes + 1, math.MaxUint32} {
		near, far := net.Pipe()
		go func() {
			_, _ = far.Write(append(binary.LittleEndian.AppendUint32(nil, n), byte(ask)))
			_ = far.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = far.Write([]byte("body"))
			_ = far.Close()
		}()
		m := newConn(near)
		if _, _, err := m.receive(); err != errMessage {
			t.Errorf("%d bytes: %v: must be %v", n, err, errMessage)
		}
		m.close()
	}
	for _, n := range []int{-1, 0, mostPartitions + 1} {
		ended, stop := context.WithCancel(t.Context())
		stop()
		_, err := Gather(ended, Config{Count: n, Loss: loss.Logistic(), Dim: 2}, func(ctx context.Context) (io.ReadWriteCloser, error) {
			return nil, ctx.Err()
		})
		if want := fmt.Sprintf("shards: %d: must be between 1 and 1048576", n); err == nil || err.Error() != want {
			t.Errorf("%d partitions: %v: must be %q", n, err, want)
		}
	}
}
