//go:build results

package results_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

var shardRows = flag.String("rows", "100000,1000000", "numbers of rows of TestShardsCost")

// processor returns the processor time that this process has used so far.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// counted starts a proxy that forwards connections to an address and counts the bytes in both
// directions. It returns the proxy's address and the counters.
func counted(t *testing.T, to string) (address string, in, out *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	in, out = new(atomic.Int64), new(atomic.Int64)
	copying := func(to, from net.Conn, n *atomic.Int64) {
		defer to.Close()
		buffer := make([]byte, 1<<16)
		for {
			k, err := from.Read(buffer)
			n.Add(int64(k))
			if _, bad := to.Write(buffer[:k]); bad != nil || err != nil {
				return
			}
		}
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			go copying(far, near, in)
			go copying(near, far, out)
		}
	}()
	return l.Addr().String(), in, out
}

// TestShardsCost measures the time of a query on a table in three partitions (shards), whose
// workers run on this machine, beside the time in one process (lab/results/speed.md). The workers are
// goroutines with connections of their own, so that the processor time includes both sides.
func TestShardsCost(t *testing.T) {
	const numbers, parts = 12, 3
	definition := dataset.Definition{Target: dataset.Target{Column: "y", Kind: dataset.Category,
		Classes: []string{"no", "yes"}}}
	for j := range numbers {
		definition.Columns = append(definition.Columns,
			dataset.Column{Name: fmt.Sprint("x", j), Kind: dataset.Number, Low: 0, High: 1})
	}
	schema, err := dataset.New(definition)
	if err != nil {
		t.Fatal(err)
	}
	budget, err := account.NewBudget(8, 1e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("| rows | over | start-up, s | a pass, ms | its processor time, ms | a cohort of 4%, ms | bytes of a pass | bytes of the cohort's question |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, n := range countsIn(t, *shardRows) {
		paths := partsOf(t, n, numbers, parts)
		c := curator.Config{Schema: schema, Loss: loss.Logistic(), Budget: budget, Paths: paths}
		costOf(t, n, "one process", c, nil, nil)
		key, err := curator.NewShardKey()
		if err != nil {
			t.Fatal(err)
		}
		var in, out *atomic.Int64
		var start func(i int) context.CancelFunc
		var stops [parts]context.CancelFunc
		c.Paths = nil
		c.Shards = &curator.Shards{Count: parts, Key: key, Listening: func(address string) {
			address, in, out = counted(t, address)
			start = func(i int) context.CancelFunc {
				ctx, stop := context.WithCancel(context.Background())
				go curator.Serve(ctx, curator.Worker{Connect: address, Key: key, Partition: i, Paths: paths[i : i+1]})
				return stop
			}
			for i := range parts {
				stops[i] = start(i)
			}
		}}
		costOf(t, n, "three shards", c, func() int64 { return in.Load() + out.Load() }, func() {
			stops[1]()
			stops[1] = start(1)
		})
	}
}

func countsIn(t *testing.T, list string) (ns []int) {
	t.Helper()
	for len(list) > 0 {
		var n int
		if _, err := fmt.Sscanf(list, "%d", &n); err != nil {
			t.Fatal(err)
		}
		ns = append(ns, n)
		for len(list) > 0 && list[0] != ',' {
			list = list[1:]
		}
		if len(list) > 0 {
			list = list[1:]
		}
	}
	return ns
}

// partsOf writes a generated table as several files and returns their paths.
func partsOf(t *testing.T, n, numbers, parts int) (paths []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for part := range parts {
		path := filepath.Join(t.TempDir(), fmt.Sprint(part, ".csv"))
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriter(f)
		for j := range numbers {
			fmt.Fprintf(w, "x%d,", j)
		}
		io.WriteString(w, "y\n")
		for range n*(part+1)/parts - n*part/parts {
			first := r.Float64()
			fmt.Fprintf(w, "%.3f,", first)
			for range numbers - 1 {
				fmt.Fprintf(w, ".%03d,", r.IntN(1000))
			}
			io.WriteString(w, map[bool]string{true: "yes\n", false: "no\n"}[first+r.NormFloat64()/3 > .5])
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		f.Close()
		paths = append(paths, path)
	}
	return paths
}

// costOf measures queries on a table in one configuration of processes and prints a line of the
// results table.
func costOf(t *testing.T, n int, over string, c curator.Config, bytes func() int64, lose func()) {
	t.Helper()
	ctx := context.Background()
	began := time.Now()
	s, err := curator.Open(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	up := time.Since(began)
	w := make([]float64, s.Dim())
	ask := func(cohort query.Cohort) {
		q, err := query.New(1e-4, query.GradientAt(cohort, w, 1))
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Ask(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		copy(w, r.Mean) // another point each time, as in a fit
	}
	read := func() int64 {
		if bytes == nil {
			return 0
		}
		time.Sleep(20 * time.Millisecond)
		return bytes()
	}
	const passes = 40
	ask(s.All())
	sent, used, began := read(), processor(t), time.Now()
	for range passes {
		ask(s.All())
	}
	pass, used := time.Since(began)/passes, (processor(t)-used)/passes
	sent = (read() - sent) / passes
	some, err := s.DrawEach(.04)
	if err != nil {
		t.Fatal(err)
	}
	members := read()
	began = time.Now()
	ask(some)
	cohort := time.Since(began)
	members = read() - members
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	fmt.Printf("| %d | %s | %.2f | %.2f | %.2f | %.2f | %d | %d |\n", n, over, up.Seconds(), ms(pass), ms(used),
		ms(cohort), sent, members)
	if lose != nil {
		lose()
		began = time.Now()
		ask(s.All())
		fmt.Printf("\nA worker of %d rows that is lost and reads its rows again: %.2f s until the question is answered.\n\n",
			n/3, time.Since(began).Seconds())
	}
}
