package curator_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// parted is a table in one file and in three files, one for each partition.
type parted struct {
	whole string
	parts []string
	lines []string
}

const partedHeader = "age,job,ill\n"

func newParted(t testing.TB, rows int) *parted {
	t.Helper()
	r := rand.New(rand.NewPCG(12, 12))
	p := &parted{}
	for range rows {
		age, job := r.Float64()*110, []string{"nurse", "clerk", "sailor", ""}[r.IntN(4)]
		ill := []string{"no", "yes", "?"}[min(r.IntN(20), 2)]
		if ill == "?" && r.IntN(3) > 0 {
			ill = map[bool]string{true: "yes", false: "no"}[age+30*r.NormFloat64() > 55]
		}
		p.lines = append(p.lines, fmt.Sprintf("%.4f,%s,%s\n", age, job, ill))
	}
	p.whole = write(t, "whole.csv", partedHeader+strings.Join(p.lines, ""))
	for i, part := range [][]string{p.lines[:rows/3], nil, p.lines[rows/3:]} {
		p.parts = append(p.parts, write(t, fmt.Sprintf("part-%d.csv", i), partedHeader+strings.Join(part, "")))
	}
	return p
}

// shards returns the shards of p, whose workers start once the session listens.
func (p *parted) shards(t testing.TB, serve func(w curator.Worker)) *curator.Shards {
	t.Helper()
	key, err := curator.NewShardKey()
	if err != nil {
		t.Fatal(err)
	}
	return &curator.Shards{Count: len(p.parts), Key: key, Version: "v", Silence: 20 * time.Second,
		Patience: 20 * time.Second, Listening: func(address string) {
			for i, path := range p.parts {
				serve(curator.Worker{Connect: address, Key: key, Version: "v", Partition: i, Paths: []string{path}})
			}
		}}
}

// workers runs workers until the test ends, and requires that they end without an error.
func workers(t testing.TB) func(curator.Worker) {
	t.Helper()
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	return func(w curator.Worker) {
		all.Go(func() {
			if err := curator.Serve(context.Background(), w); err != nil {
				t.Errorf("worker %d: %v", w.Partition, err)
			}
		})
	}
}

// TestModelsOverShards: every algorithm reaches the same weights over three shards as over one file, to the
// bit, by the same charges, under both relations, and where workers add up their sums in a tree. Under add-or-remove the declared number of records
// differs from their number. Algorithms that depend on the order of rows are refused by name.
func TestModelsOverShards(t *testing.T) {
	phased := "recursive, phased-sgd"
	t.Run("replace-one", func(t *testing.T) {
		ran, refused := modelsOverShards(t, account.ReplaceOne, 240, append(train.Algorithms(), phased))
		if ran != len(train.Algorithms()) || !slices.Equal(refused, []string{phased}) {
			t.Errorf("%d algorithms ran, %v were refused: must be %s", ran, refused, phased)
		}
	})
	t.Run("added up by workers", func(t *testing.T) {
		defer curator.AddUp()()
		ran, _ := modelsOverShards(t, account.ReplaceOne, 240, train.Algorithms())
		if ran != len(train.Algorithms()) {
			t.Errorf("%d algorithms ran: must be all", ran)
		}
	})
	t.Run("add-or-remove", func(t *testing.T) {
		ran, refused := modelsOverShards(t, account.AddOrRemove, 216, train.Algorithms())
		if ran != len(train.Algorithms()) || len(refused) > 0 {
			t.Errorf("%d algorithms ran, %v were refused: must be none", ran, refused)
		}
	})
}

// modelsOverShards compares algorithms over three shards with the same algorithms over one file of 240
// rows. The argument public is the declared number of records. modelsOverShards returns the number of
// algorithms that reached the same weights, and the names of the algorithms that were refused because rows
// are in several shards.
func modelsOverShards(t *testing.T, relation account.Relation, public float64, algorithms []string) (ran int,
	refused []string) {
	const seed = 9
	p := newParted(t, 240)
	for _, name := range algorithms {
		plan, c := planFor(t, name, p.whole, public, relation)
		run := func(s *curator.Session) (string, error) {
			defer s.Close()
			if needs := plan.Needs().Schedule; needs != nil {
				if err := s.Follow(needs); err != nil {
					t.Fatal(err)
				}
			}
			result, err := plan.Run(context.Background(), s, func(optimize.Step) {})
			return fmt.Sprintf("%x %+v", result.W, s.Ledger().Events()), err
		}
		want, err := run(must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, seed, nil)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c.Path, c.Shards = "", p.shards(t, workers(t))
		got, err := run(must[*curator.Session](t)(curator.OpenShards(context.Background(), c, seed)))
		switch {
		case err != nil && strings.Contains(err.Error(), "stable sgd: the rows are in several shards"):
			refused = append(refused, name)
		case err != nil || got != want:
			t.Errorf("%s: %v\n%.300s: must be\n%.300s", name, err, got, want)
		default:
			ran++
		}
	}
	return ran, refused
}

// planFor returns an algorithm's plan for a table, with the first loss that it takes. rows is the public
// number of records.
func planFor(t *testing.T, name, path string, rows float64, relation account.Relation) (optimize.Plan, curator.Config) {
	t.Helper()
	epsilon, delta := 4., 1e-6
	b, err := account.NewBudget(epsilon, delta, relation)
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	name, inner, phased := strings.Cut(name, ", ")
	for _, l := range []train.LossName{"logistic", "tanh", "hinge", "squared(1)"} {
		settings := train.Settings{}
		if phased {
			settings["inner"] = inner
		}
		if name == "dp-sgd" || name == "dp-adam" {
			settings["steps"] = 6 // schedules of many steps take long to calibrate
		}
		config := train.Config{
			Data: train.Files{path}, Schema: schema(t, peopleSchema), Model: train.Model{Loss: l, Regularizer: "l2(0.01)"},
			Privacy: train.Privacy{Epsilon: &epsilon, Delta: &delta, Relation: relation.String()},
			Train:   train.Train{Algorithm: name, Settings: settings},
		}
		problem, made, err := config.Problem(b, rows)
		if err != nil {
			t.Fatal(err)
		}
		plan, _, err := config.Train.Plan(context.Background(), problem)
		if err == nil {
			c := curator.Config{Path: path, Schema: config.Schema, Loss: made, Budget: b}
			if relation == account.AddOrRemove {
				c.Declared = rows
			}
			return plan, c
		}
		failed = err
	}
	t.Fatalf("%s: %v", name, failed)
	return nil, curator.Config{}
}

// gradientOf asks a session for one gradient.
func gradientOf(t testing.TB, s *curator.Session) (query.Release, error) {
	t.Helper()
	return s.Ask(context.Background(), must[query.Question](t)(query.New(.01,
		query.GradientAt(s.All(), make([]float64, 5), 1))))
}

// TestWorkersReadLikeSessions: a worker reads files and streams by the rules of a session: it uses
// the session's dialect for files, the public filter, reduced rows, a private file for rows beyond
// the memory limit, and accepts partitions without rows.
func TestWorkersReadLikeSessions(t *testing.T) {
	p := newParted(t, 120)
	semicolons := func(path string) string {
		text := must[[]byte](t)(os.ReadFile(path))
		return write(t, "semicolons.csv", strings.ReplaceAll(string(text), ",", ";"))
	}
	reduced := must[*dataset.Projection](t)(dataset.ParseProjection("jl(3)", 5))
	for name, test := range map[string]struct {
		config func(c *curator.Config)
		worker func(w *curator.Worker)
	}{
		"plain": {},
		"dialect": {
			func(c *curator.Config) { c.CSV.Delimiter, c.Path = ";", semicolons(c.Path) },
			func(w *curator.Worker) { w.Paths = []string{semicolons(w.Paths[0])} },
		},
		"stream, whatever the dialect": {
			func(c *curator.Config) { c.CSV.Delimiter, c.Path = ";", semicolons(c.Path) },
			func(w *curator.Worker) {
				f := must[*os.File](t)(os.Open(w.Paths[0]))
				w.Paths, w.Reader = nil, f
			},
		},
		"reduced":       {func(c *curator.Config) { c.Reduce = reduced }, nil},
		"on a disk":     {nil, func(w *curator.Worker) { w.Memory, w.Folder = 1, t.TempDir() }},
		"small blocks":  {nil, func(w *curator.Worker) { w.BlockRows, w.Workers = 3, 3 }},
		"add or remove": {func(c *curator.Config) { c.Declared, c.Budget = 100, addOrRemove(t) }, nil},
		"weighted loss": {func(c *curator.Config) { c.Loss = must[loss.Loss](t)(loss.Parse("weighted(logistic,1,3)")) }, nil},
		"curves": {func(c *curator.Config) {
			c.Schema = schema(t, strings.Replace(peopleSchema, "number: [0, 100]", "number: [0, 100], curve: 3", 1))
		}, nil},
		"several margin": {func(c *curator.Config) { c.Loss = must[loss.Loss](t)(loss.Parse("network(2,tanh,logistic)")) },
			nil},
	} {
		c := config(t, p.whole)
		if test.config != nil {
			test.config(&c)
		}
		asked := func(s *curator.Session, err error) string {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			defer s.Close()
			q := must[query.Question](t)(query.New(.01,
				query.GradientAt(s.All(), slices.Repeat([]float64{.3}, loss.Parameters(c.Loss, s.Dim())), 1)))
			r, err := s.Ask(context.Background(), q)
			return fmt.Sprintf("%x %v", r, err)
		}
		want := asked(curator.OpenNoisy(context.Background(), c, 4, nil))
		serve := workers(t)
		c.Path, c.Shards = "", p.shards(t, func(w curator.Worker) {
			if test.worker != nil {
				test.worker(&w)
			}
			serve(w)
		})
		if got := asked(curator.OpenShards(context.Background(), c, 4)); got != want {
			t.Errorf("%s: %s: must be %s", name, got, want)
		}
	}
}

func addOrRemove(t testing.TB) account.Budget {
	t.Helper()
	return must[account.Budget](t)(account.NewBudget(1, 1e-6, account.AddOrRemove))
}

// TestOpenOverShards: a session with secret random bits over shards counts the records, answers and
// charges, and ends its workers when it is closed.
func TestOpenOverShards(t *testing.T) {
	p := newParted(t, 60)
	c := config(t, "")
	done := make(chan error, 3)
	var mu sync.Mutex
	var told []curator.ShardEvent
	c.Shards = p.shards(t, func(w curator.Worker) { go func() { done <- curator.Serve(context.Background(), w) }() })
	c.Shards.Told = func(e curator.ShardEvent) { mu.Lock(); told = append(told, e); mu.Unlock() }
	s := must[*curator.Session](t)(curator.Open(context.Background(), c))
	if s.All().Size() != 60 {
		t.Errorf("%v records", s.All().Size())
	}
	if r, err := gradientOf(t, s); err != nil || len(r.Mean) != 5 || math.IsNaN(r.Mean[0]) {
		t.Errorf("%v, %v", r, err)
	}
	if text := fmt.Sprintf("%v %+v %#v %v", s, *c.Shards, *c.Shards, c.Shards.Key); strings.Contains(text,
		c.Shards.Key.Reveal()[:8]) {
		t.Error("printing shows the key")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Errorf("a worker at the end of its session: %v", err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) < 3 || slices.ContainsFunc(told[:3], func(e curator.ShardEvent) bool { return !e.Ready }) {
		t.Errorf("told %v", told)
	}
}

// TestShardsRefused: a configuration that a session over shards cannot have is refused before a
// worker is waited for.
func TestShardsRefused(t *testing.T) {
	key := must[curator.ShardKey](t)(curator.NewShardKey())
	for want, change := range map[string]func(c *curator.Config){
		"beside a path": func(c *curator.Config) { c.Path = "people.csv" },
		"memory":        func(c *curator.Config) { c.Memory = 1 << 20 },
		"key":           func(c *curator.Config) { c.Shards.Key = curator.ShardKey{} },
		"shards: 0":     func(c *curator.Config) { c.Shards.Count = 0 },
		"silence":       func(c *curator.Config) { c.Shards.Silence = -1 },
		"silence = 3ns": func(c *curator.Config) { c.Shards.Silence, c.Shards.Patience = 3, 1 },
		"silence = 99ms: must be between 100ms and": func(c *curator.Config) {
			c.Shards.Silence, c.Shards.Patience = 99*time.Millisecond, 1
		},
		"silence = 720h":  func(c *curator.Config) { c.Shards.Silence, c.Shards.Patience = 30*24*time.Hour, 1 },
		"patience":        func(c *curator.Config) { c.Shards.Patience = -1 },
		"by its name":     func(c *curator.Config) { c.Loss = &loud{c.Loss.(loss.RankOne), 1} },
		"curator: shards": func(c *curator.Config) { c.Shards.Listen = "nowhere:nothing" },
	} {
		c := config(t, "")
		c.Shards = &curator.Shards{Count: 2, Key: key}
		change(&c)
		if _, err := curator.Open(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := curator.Count(context.Background(),
		curator.Config{Schema: schema(t, peopleSchema), Shards: &curator.Shards{}}); err == nil {
		t.Error("shards are counted")
	}
	for _, text := range []string{"", "1234", strings.Repeat("0", 64), strings.Repeat("ab", 32), strings.Repeat("x", 64)} {
		if _, err := curator.ParseShardKey(text); err == nil {
			t.Errorf("%q is a key", text)
		}
	}
	if k, err := curator.ParseShardKey(key.Reveal()); err != nil || k.Reveal() != key.Reveal() {
		t.Error(err)
	}
	for want, w := range map[string]curator.Worker{
		"key": {Connect: "127.0.0.1:1"}, "partition": {Connect: "127.0.0.1:1", Key: key, Partition: -1},
		"connect": {Connect: "127.0.0.1:1", Key: key},
	} {
		if err := curator.Serve(context.Background(), w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestShardsListenHere: without an address, a session listens to this machine alone.
func TestShardsListenHere(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var address string
	c := config(t, "")
	c.Shards = &curator.Shards{Count: 1, Key: must[curator.ShardKey](t)(curator.NewShardKey()), Listening: func(at string) {
		address = at
		stop()
	}}
	if _, err := curator.Open(ctx, c); err == nil || !strings.HasPrefix(address, "127.0.0.1:") || address == "127.0.0.1:0" {
		t.Errorf("%q, %v", address, err)
	}
}

// TestWorkersFaults: a file that a worker cannot read ends the session, with the file's name and the
// rule. A worker that is told to end while it reads does not report such a fault.
func TestWorkersFaults(t *testing.T) {
	p := newParted(t, 30)
	c := config(t, "")
	other := write(t, "other.csv", "age,work,ill\n")
	c.Shards = p.shards(t, func(w curator.Worker) {
		if w.Partition == 1 {
			w.Paths = []string{other}
		}
		go curator.Serve(context.Background(), w)
	})
	if _, err := curator.Open(context.Background(), c); err == nil || !strings.Contains(err.Error(), "shard 1: "+other) ||
		!strings.Contains(err.Error(), `"job"`) {
		t.Error(err)
	}
	// The first worker of partition 1 gets no rows and is then told to end. The second has them.
	serve := workers(t)
	c.Shards = p.shards(t, func(w curator.Worker) {
		if w.Partition != 1 {
			serve(w)
			return
		}
		ctx, stop := context.WithCancel(context.Background())
		r, feed := io.Pipe()
		fed := w
		fed.Paths, fed.Reader = nil, r
		done := make(chan error, 1)
		go func() { done <- curator.Serve(ctx, fed) }()
		go func() {
			io.WriteString(feed, partedHeader) // the worker has begun to read
			stop()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("a worker that is told to end: %v", err)
			}
			feed.Close()
			w.Attempt = 1
			serve(w)
		}()
	})
	s, err := curator.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if s.All().Size() != 30 {
		t.Errorf("%v records", s.All().Size())
	}
	s.Close()
}

// TestOtherRowsEndTheFit: a partition that is read again must have the rows that it had. Otherwise a
// row could be in two cohorts, and no query is answered any more.
func TestOtherRowsEndTheFit(t *testing.T) {
	for name, change := range map[string]func(lines []string) []string{
		"the same":        func(lines []string) []string { return lines },
		"another row":     func(lines []string) []string { lines[5] = "1,clerk,yes\n"; return lines },
		"another order":   func(lines []string) []string { lines[5], lines[6] = lines[6], lines[5]; return lines },
		"a row less":      func(lines []string) []string { return lines[1:] },
		"another, faulty": func(lines []string) []string { lines[3] = "x\n"; return lines },
	} {
		p := newParted(t, 60)
		c := config(t, "")
		stops := make([]context.CancelFunc, len(p.parts))
		var last curator.Worker
		c.Shards = p.shards(t, func(w curator.Worker) {
			ctx, stop := context.WithCancel(context.Background())
			stops[w.Partition], last = stop, w
			go curator.Serve(ctx, w)
		})
		c.Shards.Patience = 5 * time.Second
		s := must[*curator.Session](t)(curator.Open(context.Background(), c))
		before := s.Ledger().Len()
		stops[2]()
		path := filepath.Join(t.TempDir(), "again.csv")
		if err := os.WriteFile(path, []byte(partedHeader+strings.Join(change(slices.Clone(p.lines[20:])), "")),
			0o600); err != nil {
			t.Fatal(err)
		}
		last.Paths, last.Attempt = []string{path}, 1
		ctx, stop := context.WithCancel(context.Background())
		go curator.Serve(ctx, last)
		r, err := gradientOf(t, s)
		if name == "the same" {
			if err != nil {
				t.Error(err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "shard 2: must have the same rows") || r.Mean != nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
		if s.Ledger().Len() != before+1 {
			t.Errorf("%s: %d events", name, s.Ledger().Len()-before)
		}
		stop()
		s.Close()
		stops[0]()
		stops[1]()
	}
}

// TestAFileIsMadeWhateverThereIs: a worker with a limit of memory makes its private file before it reads a
// row, so that neither the file nor an error about it tells how many rows there are.
func TestAFileIsMadeWhateverThereIs(t *testing.T) {
	p := newParted(t, 9)
	c := config(t, "")
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	c.Shards = p.shards(t, func(w curator.Worker) {
		if w.Partition == 1 { // the partition has no rows
			w.Memory, w.Folder = 1<<30, nowhere
		}
		go curator.Serve(context.Background(), w)
	})
	if _, err := curator.Open(context.Background(), c); err == nil || !strings.Contains(err.Error(), "private file") {
		t.Error(err)
	}
}

// TestKeysAreDrawn: a key of few different bytes, which nobody draws at random, is refused, however its bytes are
// arranged; one of twelve is taken.
func TestKeysAreDrawn(t *testing.T) {
	for different := 1; different <= 32; different++ {
		for _, blocks := range []bool{true, false} {
			var raw [32]byte
			for i := range raw {
				raw[i] = byte(i % different)
				if blocks {
					raw[i] = byte(min(i, different-1))
				}
				raw[i] = raw[i]*37 + 5
			}
			key, err := curator.ParseShardKey(hex.EncodeToString(raw[:]))
			if (err == nil) != (different >= 12) || err == nil && key.Reveal() != hex.EncodeToString(raw[:]) {
				t.Errorf("a key of %d different bytes: error %v", different, err)
			}
		}
	}
}
