//go:build results

package curator_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// partedRows returns a table of peopleSchema in one file and in two partitions. It has no faulty cells.
func partedRows(t *testing.T, rows int) *parted {
	t.Helper()
	r := rand.New(rand.NewPCG(13, 13))
	p := &parted{}
	for range rows {
		age, job := r.Float64()*110, []string{"nurse", "clerk", "sailor"}[r.IntN(3)]
		ill := map[bool]string{true: "yes", false: "no"}[age+30*r.NormFloat64() > 55]
		p.lines = append(p.lines, fmt.Sprintf("%.4f,%s,%s\n", age, job, ill))
	}
	p.whole = write(t, "whole.csv", partedHeader+strings.Join(p.lines, ""))
	for i, part := range [][]string{p.lines[:rows/3], p.lines[rows/3:]} {
		p.parts = append(p.parts, write(t, fmt.Sprintf("part-%d.csv", i), partedHeader+strings.Join(part, "")))
	}
	return p
}

// cluster is a process of Python that holds partitions on a Dask cluster.
type cluster struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// kill kills a process of Dask and returns once it is killed.
func (c cluster) kill(t *testing.T) {
	t.Helper()
	fmt.Fprintln(c.in, "kill")
	if line, err := c.out.ReadString('\n'); err != nil || line != "killed\n" {
		t.Fatalf("kill: %q, %v", line, err)
	}
}

// startDask starts Python's lab/results/shards_dask.py. The returned function waits for its end.
func startDask(t *testing.T) (cluster, func() error) {
	t.Helper()
	python := exec.Command(cmp.Or(os.Getenv("PYTHON"), "python3"), "-W", "ignore", "../lab/results/shards_dask.py")
	python.Stderr = os.Stderr
	in := must[io.WriteCloser](t)(python.StdinPipe())
	out := must[io.ReadCloser](t)(python.StdoutPipe())
	if err := python.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); python.Process.Kill() })
	return cluster{in, bufio.NewReader(out)}, func() error { in.Close(); return python.Wait() }
}

// TestDaskToTheBit: a fit of 400,000 rows whose partitions are on a Dask cluster, of which a process is killed in the
// middle of the fit, reaches the weights of a fit of one file to the bit, by the same charges. lab/results/shards.sh
// runs it. PYTHON names a Python with Dask and the package.
func TestDaskToTheBit(t *testing.T) {
	const rows, seed, at = 400_000, 9, 100
	p := partedRows(t, rows)
	plan, c := planFor(t, "gd", p.whole, rows, account.ReplaceOne)
	run := func(s *curator.Session, observe func(optimize.Step)) string {
		defer s.Close()
		result, err := plan.Run(context.Background(), s, observe)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%x %+v", result.W, s.Ledger().Events())
	}
	want := run(must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, seed, nil)), func(optimize.Step) {})
	version, _, _ := strings.Cut(string(must[[]byte](t)(exec.Command("stillpoint", "version").Output())), " "+runtime.GOOS)
	dask, ended := startDask(t)
	key := must[curator.ShardKey](t)(curator.NewShardKey())
	lost := make(chan bool, 10)
	c.Path, c.Shards = "", &curator.Shards{Count: 2, Key: key, Version: version, Patience: 3 * time.Minute,
		Told: func(e curator.ShardEvent) {
			if !e.Ready {
				lost <- true
			}
		},
		Listening: func(address string) {
			told := must[[]byte](t)(json.Marshal(map[string]any{"address": address, "key": key.Reveal(), "files": p.parts}))
			fmt.Fprintf(dask.in, "%s\n", told)
		}}
	asked := 0
	began := time.Now()
	got := run(must[*curator.Session](t)(curator.OpenShards(context.Background(), c, seed)), func(optimize.Step) {
		if asked++; asked == at {
			dask.kill(t)
		}
	})
	if err := ended(); err != nil {
		t.Error(err)
	}
	if got != want {
		t.Errorf("%.300s: must be\n%.300s", got, want)
	}
	if len(lost) == 0 || asked <= at {
		t.Errorf("%d partitions were lost in %d steps: must be one or more, in more than %d", len(lost), asked, at)
	}
	fmt.Printf("%d rows over Dask, a process killed after %d of %d steps: weights and charges are those of one process to the "+
		"bit (%.0f s)\n", rows, at, asked, time.Since(began).Seconds())
}
