package enginetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Make returns an engine over a source of rows, with a loss and a number of goroutines.
type Make func(s row.Source, l loss.Loss, workers int) (engine.Engine, error)

// scale is the number of grid steps in a unit. At this scale the rounding of contributions is visible.
const scale = 0x1p20 / 3

// cuts are divisions of the rows into blocks and among goroutines, on which an engine's sums must not
// depend.
var cuts = []struct{ blockRows, workers int }{{0, 1}, {1, 3}, {3, 2}, {64, 5}, {100, 1}}

// lengths are numbers of rows near multiples of a tile's size.
var lengths = []int{0, 1, 2, 63, 64, 65, 129}

// layouts returns layouts of rows: one number; numbers whose count is no multiple of 8, the width of a
// lane; numbers and one-hot groups; many one-hot groups; features that are mostly zero; and hats, the
// values of curves' basis functions. Short tests leave out some of these.
func layouts() map[string]*row.Layout {
	all := rowtest.Layouts()
	maps.Copy(all, rowtest.HatLayouts())
	delete(all, "8 numbers")
	delete(all, "wide groups")
	if testing.Short() {
		delete(all, "hats, pairs")
		delete(all, "hats last")
		delete(all, "hats alone")
		delete(all, "1 number")
		delete(all, "9 groups")
	}
	return all
}

// Run tests that an engine over each of the sources returns the integers of a slow and simple
// reference, and that it returns an error if it cannot answer. Unless all is true, each query is tested for every loss
// over half of the layouts of rows, in turn.
func Run(t *testing.T, build Make, sources map[string]rowtest.Make, all bool) {
	every := 2
	if all {
		every = 1
	}
	t.Run("sums", func(t *testing.T) { sums(t, build, sources, layouts(), every) })
	t.Run("columns", func(t *testing.T) { columns(t, build, sources) })
	RunPasses(t, build, sources)
}

// RunSums runs the tests of sums, for an engine that makes no passes of SGD. Such an engine has an
// engine.Portable for each part of the rows, and Run tests engine.Portable with all layouts. Unless
// all is true, RunSums therefore tests only two layouts with groups and one with hats, by turns: for each loss, each
// query is tested over one of them.
func RunSums(t *testing.T, build Make, sources map[string]rowtest.Make, all bool) {
	some, every := layouts(), 1
	if !all {
		every = 3
		maps.DeleteFunc(some, func(name string, _ *row.Layout) bool {
			return name != "2 groups" && name != "9 groups" && name != "hats adjacent"
		})
	}
	t.Run("sums", func(t *testing.T) { sums(t, build, sources, some, every) })
	t.Run("columns", func(t *testing.T) { columns(t, build, sources) })
	refuses(t, build, sources)
}

// RunPasses is the part of Run that RunSums leaves out: averages of passes of SGD. It also tests that
// invalid arguments are refused.
func RunPasses(t *testing.T, build Make, sources map[string]rowtest.Make) {
	t.Run("averages", func(t *testing.T) { averages(t, build, sources) })
	refuses(t, build, sources)
}

func refuses(t *testing.T, build Make, sources map[string]rowtest.Make) {
	for name, source := range sources {
		t.Run("refusals, "+name, func(t *testing.T) { refusals(t, build, source) })
	}
}

// over calls f with engines over the same records, one for each of the sources. way selects the division of
// the rows into blocks and the number of goroutines.
func over(t *testing.T, build Make, sources map[string]rowtest.Make, l loss.Loss, rows *row.Layout, way int,
	records []rowtest.Record, f func(engines map[string]engine.Engine)) {
	t.Helper()
	engines := map[string]engine.Engine{}
	for i, name := range slices.Sorted(maps.Keys(sources)) {
		cut := cuts[(way+i)%len(cuts)]
		s := rowtest.Hung(sources[name])(t, rows, cut.blockRows, records)
		defer s.Close()
		e, err := build(s, l, cut.workers)
		if err != nil {
			t.Fatal(err)
		}
		engines[fmt.Sprintf("%s, blocks of %d, %d goroutines", name, cut.blockRows, cut.workers)] = e
	}
	f(engines)
}

// sums tests the sums of every query for every loss over every layout of rows. If every is above 1, each layout has one
// of so many queries, in turn, so that over as many layouts every query is tested for every loss. In short runs it is at
// least 4.
func sums(t *testing.T, build Make, sources map[string]rowtest.Make, layouts map[string]*row.Layout, every int) {
	kinds := losses(t)
	if testing.Short() {
		every = 4
	}
	for i, kind := range slices.Sorted(maps.Keys(kinds)) {
		l := kinds[kind]
		for k, layout := range slices.Sorted(maps.Keys(layouts)) {
			rows := layouts[layout]
			dim := rows.Dim()
			for way, n := range lengths {
				if (dim != 11 || rows.Groups() > 0 || testing.Short()) && n != 2 && n != 65 {
					continue // other lengths: only for rows of 11 numbers, in long runs
				}
				records, members := shrunk(rowtest.Records(n, rows, uint64(n), way%3 > 0)), lists(n)
				over(t, build, sources, l, rows, way, records, func(engines map[string]engine.Engine) {
					all := questions(t, l, dim)
					for at, asked := range slices.Sorted(maps.Keys(all)) {
						q := all[asked]
						if (i+k+at)%every > 0 {
							continue
						}
						if asksNoLoss(q) && kind != "logistic" && kind != "network" {
							continue // the answer does not depend on the loss
						}
						if engine.Answers(l, q) != nil {
							for name, e := range engines {
								if sum, err := e.Sum(context.Background(), q, scale, nil); err == nil {
									t.Fatalf("%s, %s; %s: answered %v", kind, asked, name, sum.Residual)
								}
							}
							continue
						}
						each := residuals(l, q, scale, records)
						for whose, list := range members {
							want := total(each, list, q.SumDim())
							for name, e := range engines {
								sum, err := e.Sum(context.Background(), q, scale, list)
								if err != nil || !slices.Equal(sum.Residual, want) {
									t.Fatalf("%s, %s of %d rows of %d features, %d groups, %s; %s: %v, %v: must be %v",
										kind, asked, n, dim, rows.Groups(), whose, name, sum.Residual, err, want)
								}
							}
						}
					}
				})
			}
		}
	}
}

// asksNoLoss reports whether a query depends on the features alone.
func asksNoLoss(q query.Question) bool {
	return !slices.ContainsFunc(q.Terms(), func(t query.Term) bool { return t.Kind().Facts().Losses != query.NoLoss })
}

func averages(t *testing.T, build Make, sources map[string]rowtest.Make) {
	for kind, l := range losses(t) {
		l, rankOne := l.(loss.RankOne)
		if !rankOne {
			continue
		}
		for _, rows := range layouts() {
			dim := rows.Dim()
			for way, n := range lengths {
				if rows.Groups() > 0 && n != 65 {
					continue // a pass reads rows with all their features, so that one length is enough
				}
				records := shrunk(strange(rowtest.Records(n, rows, uint64(n), way%3 > 0)))
				over(t, build, sources, l, rows, way, records, func(engines map[string]engine.Engine) {
					for pass, p := range passes(dim) {
						for whose, members := range lists(n) {
							if len(members) < 2 {
								continue // an average needs at least one step
							}
							want := average(l, p, scale, of(records, members))
							for name, e := range engines {
								got, err := e.Average(context.Background(), p, scale, members)
								if err != nil || !slices.Equal(got, want) {
									t.Fatalf("%s, %s over %d rows of %d features, %d groups, %s; %s: %v, %v: must be %v",
										kind, pass, n, dim, rows.Groups(), whose, name, got, err, want)
								}
							}
						}
					}
				})
			}
		}
	}
}

// refusals tests that an engine returns an error and no sum if the context has ended, if a member is not the number of
// a row, or if rows cannot be read. An engine must not return the sum of only the rows that were read.
func refusals(t *testing.T, build Make, source rowtest.Make) {
	const n, dim = 150, 3
	l := parse(t, "logistic")
	q := questions(t, l, dim)["gradient"]
	p := passes(dim)["plain"]
	ask := func(name string, s row.Source, ctx context.Context, members []int32, want error) {
		t.Helper()
		e, err := build(s, l, 2)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := e.Sum(ctx, q, scale, members)
		if err == nil || want != nil && !errors.Is(err, want) || sum.Residual != nil {
			t.Errorf("%s: sum: %v, %v: must be %v", name, sum.Residual, err, want)
		}
		if members == nil {
			return
		}
		average, err := e.Average(ctx, p, scale, members)
		if !e.Ordered() {
			want = engine.ErrOrder
		}
		if err == nil || want != nil && !errors.Is(err, want) || average != nil {
			t.Errorf("%s: average: %v, %v: must be %v", name, average, err, want)
		}
	}
	rows := rowtest.Dense(dim)
	s := source(t, rows, 16, rowtest.Records(n, rows, 1, true))
	defer s.Close()
	some, ctx := lists(n)["shuffled"], context.Background()
	ended, end := context.WithCancel(ctx)
	end()
	ask("cancelled", s, ended, nil, context.Canceled)
	ask("cancelled", s, ended, some, context.Canceled)
	for _, m := range []int32{-1, n, n + 1, math.MaxInt32, math.MinInt32} {
		ask("a member that is no row", s, ctx, append(slices.Clone(some), m), nil)
	}
	lost := unread{s, s.Blocks() - 1, n - 1}
	ask("a block that cannot be read", lost, ctx, nil, row.ErrUnread)
	ask("a row that cannot be read", lost, ctx, some, row.ErrUnread)
}

// unread is a source of which one block cannot be read, and one row of this block cannot be read as
// a member.
type unread struct {
	row.Source
	block int
	row   int32
}

func (u unread) Reader() row.Reader { return unreadReader{u.Source.Reader(), u} }

type unreadReader struct {
	row.Reader
	unread
}

func (r unreadReader) Block(i int) (row.Block, error) {
	if i == r.block {
		return row.Block{}, row.ErrUnread
	}
	return r.Reader.Block(i)
}

func (r unreadReader) Rows(b *row.Block, members []int32) error {
	if slices.Contains(members, r.row) {
		return row.ErrUnread
	}
	return r.Reader.Rows(b, members)
}
