package wire_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine/enginetest"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/wire"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// socket is the environment variable that names the socket of a worker process. With it, the test
// binary runs as a worker.
const socket = "STILLPOINT_TEST_WORKER"

func TestMain(m *testing.M) {
	if at := os.Getenv(socket); at != "" {
		serve(at)
		return
	}
	enginetest.Main(m)
}

// job is the configuration of a worker in these tests. It contains the worker's rows: a block for
// each row, in the form of the source.
type job struct {
	Dim       int
	Groups    []row.Group
	Hats      []row.Hats
	Rows      []row.Block
	Lost      []bool // whether each row cannot be read
	BlockRows int
	Loss      string
	Workers   int
	Tags      []wire.Tag // the tags of units
}

// jobOf returns the configuration of a worker for the rows of a source from row start to before row
// end.
func jobOf(t testing.TB, s row.Source, l loss.Loss, workers, start, end int) job {
	t.Helper()
	layout, r := s.Layout(), s.Reader()
	j := job{Dim: layout.Dim(), Hats: layout.Hats(), BlockRows: 7, Loss: enginetest.NameOf(t, l), Workers: workers}
	for g := range layout.Groups() {
		j.Groups = append(j.Groups, layout.Group(g))
	}
	for i := start; i < end; i++ {
		var b row.Block
		err := r.Rows(&b, []int32{int32(i)})
		if err != nil {
			b = row.Block{}
		}
		j.Rows, j.Lost = append(j.Rows, b), append(j.Lost, err != nil)
	}
	return j
}

func (j job) encoded(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(j); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// build returns a worker's wire.Build. The digest is computed over the job, which contains the
// rows.
func build(partition int) wire.Build {
	return func(_ context.Context, configuration []byte, key [32]byte) (wire.Held, error) {
		return built(jobIn(configuration, partition), key)
	}
}

func built(configuration []byte, key [32]byte) (wire.Held, error) {
	var j job
	if err := gob.NewDecoder(bytes.NewReader(configuration)).Decode(&j); err != nil {
		return wire.Held{}, err
	}
	layout, err := row.NewHatted(j.Dim, j.Groups, j.Hats)
	if err != nil {
		return wire.Held{}, err
	}
	e, err := engine.New(shipped{j, layout}, enginetest.Named(new(testing.T), j.Loss), j.Workers)
	return wire.Held{Engine: e, Digest: sha256.Sum256(append(key[:], configuration...)), Tags: j.Tags}, err
}

// shipped is the source of a job's rows.
type shipped struct {
	job
	layout *row.Layout
}

func (s shipped) Len() int            { return len(s.Rows) }
func (s shipped) Layout() *row.Layout { return s.layout }
func (s shipped) Blocks() int         { return (len(s.Rows) + s.BlockRows - 1) / s.BlockRows }
func (s shipped) Reader() row.Reader  { return shippedReader{s} }
func (s shipped) Close() error        { return nil }

type shippedReader struct{ of shipped }

func (r shippedReader) Block(i int) (b row.Block, err error) {
	for k := i * r.of.BlockRows; k < min((i+1)*r.of.BlockRows, r.of.Len()) && err == nil; k++ {
		err = r.Rows(&b, []int32{int32(k)})
	}
	if err != nil {
		return row.Block{}, err
	}
	return b, nil
}

func (r shippedReader) Rows(b *row.Block, members []int32) error {
	for _, m := range members {
		if r.of.Lost[m] {
			return row.ErrUnread
		}
		b.Append(r.of.Rows[m])
	}
	return nil
}

// serve is the worker process. It answers every connection to a socket until its standard input
// ends. The first line of a connection is the partition.
func serve(at string) {
	l, err := net.Listen("unix", at)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("listening")
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Remove(at)
		os.Exit(0)
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		go func() {
			var partition, attempt int
			if _, err := fmt.Fscanf(c, "%d %d\n", &partition, &attempt); err == nil {
				wire.Work(context.Background(), c, wire.Hello{Version: "test", Partition: partition, Attempt: attempt},
					func(ctx context.Context, configuration []byte, key [32]byte) (wire.Held, error) {
						h, err := build(partition)(ctx, configuration, key)
						h.Peers = neighbours(at)
						return h, err
					})
			}
		}()
	}
}

// neighbours is how the workers of the process at a socket reach each other, by sockets beside it.
func neighbours(at string) wire.Peers {
	return wire.Peers{
		Listen: func(ctx context.Context, serve func(io.ReadWriteCloser)) (string, error) {
			address := fmt.Sprintf("%s%d", at, listeners.Add(1))
			l, err := net.Listen("unix", address)
			if err != nil {
				return "", err
			}
			context.AfterFunc(ctx, func() { l.Close() })
			go func() {
				for c, err := l.Accept(); err == nil; c, err = l.Accept() {
					go serve(c)
				}
			}()
			return address, nil
		},
		Dial: func(_ context.Context, address string) (io.ReadWriteCloser, error) { return net.Dial("unix", address) },
	}
}

var listeners atomic.Int64

// process is a process that runs workers.
type process struct {
	socket string
	cmd    *exec.Cmd
	stdin  io.Closer
}

// start starts a worker process, which ends with the test.
func start(t testing.TB) *process {
	t.Helper()
	dir, err := os.MkdirTemp("", "wire") // t.TempDir may be too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	p := &process{socket: filepath.Join(dir, "s")}
	p.cmd = exec.Command(os.Args[0], "-test.run=^$")
	p.cmd.Env = append(os.Environ(), socket+"="+p.socket)
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		p.cmd.Wait()
		os.RemoveAll(dir)
	})
	line := make([]byte, 10)
	if _, err := io.ReadFull(out, line); err != nil || !strings.HasPrefix(string(line), "listening") {
		t.Fatalf("a worker process says %q, %v", line, err)
	}
	return p
}

// dial connects to a worker process, which then presents itself as a worker of a partition.
func (p *process) dial(partition, attempt int) (net.Conn, error) {
	c, err := net.Dial("unix", p.socket)
	if err == nil {
		_, err = fmt.Fprintf(c, "%d %d\n", partition, attempt)
	}
	return c, err
}

// accepting returns the function by which Gather accepts the connections that are sent to the
// channel c.
func accepting(c <-chan io.ReadWriteCloser) func(context.Context) (io.ReadWriteCloser, error) {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		select {
		case rw, ok := <-c:
			if !ok {
				return nil, errors.New("nobody connects any more")
			}
			return rw, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// patient returns a configuration of shards for tests in which no worker may be lost by a time
// limit.
func patient(l loss.Loss, dim, count int) wire.Config {
	return wire.Config{Count: count, Loss: l, Dim: dim, Version: "test", Key: [32]byte{1, 2}, Silence: 20 * time.Second,
		Patience: 20 * time.Second}
}
