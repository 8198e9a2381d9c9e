package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Options are options of Spec.Run.
type Options struct {
	// Algorithms are algorithms that package train does not register, by the names that the specification
	// uses. A name of train.Algorithms is an error. Settings in the specification set the fields of the
	// algorithm's type that have a YAML key. If the program has changed since runs of these algorithms were
	// recorded, the runs are repeated, because the algorithm may have changed.
	Algorithms map[string]optimize.Algorithm
	// Workers, if > 0, replaces the specification's Workers.
	Workers int
	// Progress, if not nil, is called before the first run and after each run. Calls do not
	// overlap.
	Progress func(Progress)
}

// Progress states how many runs of a specification are finished.
type Progress struct {
	// Done is the number of finished runs, including the runs found in the folder. Of is the total number of
	// runs.
	Done, Of int
	// Left is the expected time for the remaining runs. It is 0 while no run has finished.
	Left time.Duration
}

// Run carries out the runs of the specification that are missing in the folder's runs.jsonl, and returns
// the summary of all runs. It records each run when the run is finished, so an interruption loses only the
// runs in progress. Before the first run it makes every plan once, and returns an error if a plan fails.
func (s *Spec) Run(ctx context.Context, folder string, o Options) (Summary, error) {
	mine, err := newOwn(o.Algorithms)
	if err != nil {
		return Summary{}, err
	}
	cells, err := s.cells(mine)
	if err != nil {
		return Summary{}, err
	}
	runs, err := ReadFinished(folder)
	if err != nil {
		return Summary{}, err
	}
	r := &runner{spec: s, options: o, bench: newBench(), own: mine, done: map[string]Finished{},
		workers: workers(o.Workers, s.Workers)}
	r.bench.own = mine
	for _, run := range runs {
		if run.Code == "" || run.Code == mine.code {
			r.done[run.trialKey()] = run
		}
	}
	if err := r.planAll(ctx, cells); err != nil {
		return Summary{}, err
	}
	if r.journal, err = openJournal(folder); err != nil {
		return Summary{}, err
	}
	err = r.all(ctx, cells)
	if closing := r.journal.close(); err == nil {
		err = closing
	}
	if err != nil {
		return Summary{}, err
	}
	return s.summarize(cells, r.done)
}

func workers(wanted ...int) int {
	for _, n := range wanted {
		if n > 0 {
			return n
		}
	}
	return runtime.GOMAXPROCS(0)
}

// runner is the state of Spec.Run while it carries out the runs of a specification.
type runner struct {
	spec    *Spec
	options Options
	journal *journal
	bench   *bench
	own     own
	workers int

	mu       sync.Mutex
	done     map[string]Finished
	progress Progress
	ran      int           // number of runs finished by this process
	took     time.Duration // total duration of these runs
}

func (r *runner) all(ctx context.Context, cells []cell) error {
	var tuning []Trial
	count := 0
	for _, c := range cells {
		t := c.tuning(r.spec.TuningSeeds)
		tuning = append(tuning, t...)
		count += len(t) + r.spec.Seeds
	}
	r.progress = Progress{Of: count}
	for _, c := range tuning {
		if _, ok := r.done[c.Key()]; ok {
			r.progress.Done++
		}
	}
	// Which runs measure the cells, and how many of these are finished, is known only after tuning.
	r.report()
	if err := r.run(ctx, tuning, false); err != nil {
		return err
	}
	var measured []Trial
	for _, c := range cells {
		settings, ok := c.choose(r.done, r.spec.TuningSeeds)
		if !ok {
			return fmt.Errorf("experiment: %s: tuning runs are missing", c.base.Label)
		}
		measured = append(measured, c.measured(settings, r.spec.Seeds)...)
	}
	return r.run(ctx, measured, true)
}

// planAll makes each plan that the missing runs need, so that an error in a plan is reported before the
// first run.
func (r *runner) planAll(ctx context.Context, cells []cell) error {
	var plans []Trial
	for _, c := range cells {
		grid, runs := c.grid, c.tuning(r.spec.TuningSeeds)
		if settings, ok := c.choose(r.done, r.spec.TuningSeeds); ok {
			grid, runs = []json.RawMessage{settings}, c.measured(settings, r.spec.Seeds)
		}
		for _, run := range runs {
			if _, ok := r.done[run.Key()]; !ok {
				plans = append(plans, c.runs(grid, 0, 1)...)
				break
			}
		}
	}
	return each(ctx, r.workers, plans, func(c Trial) error {
		s, err := r.bench.instance(c)
		if err == nil {
			_, err = r.bench.plan(ctx, c, s)
		}
		return err
	})
}

// run carries out the missing runs of a list, in random order. In this order the mean duration of the
// finished runs estimates the mean duration of the remaining runs. count is true if the finished runs of
// the list are not yet in the progress.
func (r *runner) run(ctx context.Context, list []Trial, count bool) error {
	var todo []Trial
	for _, c := range list {
		if _, ok := r.done[c.Key()]; !ok {
			todo = append(todo, c)
		} else if count {
			r.progress.Done++
		}
	}
	if count {
		r.report()
	}
	shuffle := rand.New(rand.NewPCG(uint64(len(list)), 1))
	shuffle.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
	return each(ctx, r.workers, todo, func(c Trial) error {
		c.Code = r.own.codeOf(c.Settings)
		run, err := r.bench.run(ctx, c)
		if err != nil {
			return err
		}
		if err := r.journal.append(run); err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.done[run.trialKey()] = run
		r.ran++
		r.took += time.Duration(run.Seconds * float64(time.Second))
		r.progress.Done++
		r.progress.Left = r.took / time.Duration(r.ran) *
			time.Duration(r.progress.Of-r.progress.Done) / time.Duration(r.workers)
		r.report()
		return nil
	})
}

func (r *runner) report() {
	if r.options.Progress != nil {
		r.options.Progress(r.progress)
	}
}

// each calls f on the elements of the list in the given number of goroutines. After a call fails or the
// context ends, it begins no further calls. It returns the first error.
func each[T any](ctx context.Context, workers int, list []T, f func(T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan T)
	var wg sync.WaitGroup
	for range min(workers, len(list)) {
		wg.Go(func() {
			for x := range next {
				if err := f(x); err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for _, x := range list {
		select {
		case next <- x:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
