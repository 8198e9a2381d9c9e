package curator_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/query"
)

// bent returns the schema of people with a curve of age on the given knots and, if it has jobs, their
// interaction with age.
func bent(t testing.TB, base, knots string) *dataset.Schema {
	text := strings.Replace(base, "age: {number: [0, 100]}", "age: {number: [0, 100], curve: "+knots+"}", 1)
	if strings.Contains(base, "job:") {
		text += "interactions: [[age, job]]\n"
	}
	return schema(t, text)
}

// answered asks two queries about all records, in the session's present number of features, and closes nothing.
func answered(t testing.TB, s *curator.Session, l loss.Loss) string {
	t.Helper()
	parameters, err := loss.Check(l, s.Dim())
	if err != nil {
		t.Fatal(err)
	}
	w := make([]float64, parameters)
	for j := range w {
		w[j] = math.Sin(float64(j))
	}
	var out strings.Builder
	for _, term := range []query.Term{query.GradientAt(s.All(), w, 1), query.ValueAt(s.All(), w, .7, .5)} {
		r, err := s.Ask(context.Background(), must[query.Question](t)(query.New(.01, term)))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%x %x\n", r.Mean, r.Sigma)
	}
	return out.String()
}

// TestRefinedSessionsAnswerAsIfOpenedSo: after Refine, a session gives the answers of a session that was opened
// with the refined schema, to the bit and by the same random bits: over rows in memory, in a private file and in
// shards, over single rows and over units, by either relation. Refine writes nothing to the ledger.
func TestRefinedSessionsAnswerAsIfOpenedSo(t *testing.T) {
	const first, then, last = "4", "[0, 10, 45, 52.5, 60, 100]", "[0, 52.5, 100]"
	single, units := newParted(t, 150), newPartedUnits(t)
	of2, err := loss.NewUnits(loss.Logistic(), 3, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		parted *parted
		base   string
		loss   loss.Loss
	}{{"rows", single, peopleSchema, loss.Logistic()}, {"units", units, unitSchema, of2}} {
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			b := must[account.Budget](t)(account.NewBudget(4, 1e-6, relation))
			c := curator.Config{Path: test.parted.whole, Loss: test.loss, Budget: b, Schema: bent(t, test.base, then)}
			if relation == account.AddOrRemove {
				c.Declared = 140
			}
			s := must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, 5, nil))
			want := answered(t, s, test.loss)
			s.Close()
			c.Schema = bent(t, test.base, first)
			for way, open := range map[string]func() (*curator.Session, error){
				"memory": func() (*curator.Session, error) { return curator.OpenNoisy(context.Background(), c, 5, nil) },
				"file": func() (*curator.Session, error) {
					c := c
					c.Memory, c.Folder = 1000, t.TempDir()
					return curator.OpenNoisy(context.Background(), c, 5, nil)
				},
				"shards": func() (*curator.Session, error) {
					c := c
					c.Path, c.Shards = "", test.parted.shards(t, workers(t))
					return curator.OpenShards(context.Background(), c, 5)
				},
			} {
				s := must[*curator.Session](t)(open())
				before := s.Dim()
				for _, knots := range []string{last, then} {
					if err := s.Refine(bent(t, test.base, knots)); err != nil {
						t.Fatalf("%s, %s: %v", test.name, way, err)
					}
				}
				if n := s.Ledger().Len(); n != 0 || s.Dim() == before {
					t.Errorf("%s, %s: %d events by refining, %d features as before", test.name, way, n, s.Dim())
				}
				if got := answered(t, s, test.loss); got != want {
					t.Errorf("%s, %v, %s:\n%.200s: must be\n%.200s", test.name, relation, way, got, want)
				}
				s.Close()
			}
		}
	}
}

// TestRefinedToLines: after a session was refined by a schema without the curve that it had, it gives the answers of a
// session that was opened with that schema, up to the rounding of rows to float32: over rows in memory, in a private file
// and in shards, over single rows and over units.
func TestRefinedToLines(t *testing.T) {
	of2 := must[loss.Loss](t)(loss.NewUnits(loss.Logistic(), 3, false))
	for _, test := range []struct {
		name   string
		parted *parted
		base   string
		loss   loss.Loss
	}{{"rows", newParted(t, 150), peopleSchema, loss.Logistic()}, {"units", newPartedUnits(t), unitSchema, of2}} {
		with := func(age string) *dataset.Schema {
			return schema(t, strings.Replace(test.base, "age: {number: [0, 100]}", "age: {number: [0, 100], "+age+"}", 1))
		}
		c := curator.Config{Path: test.parted.whole, Loss: test.loss, Schema: with("missing: indicator"),
			Budget: must[account.Budget](t)(account.NewBudget(4, 1e-6, account.ReplaceOne))}
		s := must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, 5, nil))
		want := gradient(t, s, test.loss)
		s.Close()
		straight := c.Schema
		c.Schema = with("curve: 4")
		for way, open := range map[string]func() (*curator.Session, error){
			"memory": func() (*curator.Session, error) { return curator.OpenNoisy(context.Background(), c, 5, nil) },
			"file": func() (*curator.Session, error) {
				c := c
				c.Memory, c.Folder = 1000, t.TempDir()
				return curator.OpenNoisy(context.Background(), c, 5, nil)
			},
			"shards": func() (*curator.Session, error) {
				c := c
				c.Path, c.Shards = "", test.parted.shards(t, workers(t))
				return curator.OpenShards(context.Background(), c, 5)
			},
		} {
			s := must[*curator.Session](t)(open())
			for _, next := range []*dataset.Schema{with("curve: [0, 10, 100]"), straight} {
				if err := s.Refine(next); err != nil {
					t.Fatalf("%s, %s: %v", test.name, way, err)
				}
			}
			got := gradient(t, s, test.loss)
			for j, v := range got {
				if len(got) != len(want) || !(math.Abs(v-want[j]) <= 1e-5) {
					t.Fatalf("%s, %s: %v: must be near %v", test.name, way, got, want)
				}
			}
			s.Close()
		}
	}
}

// gradient returns the answer to a query about the gradient at a fixed point.
func gradient(t *testing.T, s *curator.Session, l loss.Loss) []float64 {
	t.Helper()
	w := make([]float64, must[int](t)(loss.Check(l, s.Dim())))
	for j := range w {
		w[j] = math.Sin(float64(j))
	}
	q := must[query.Question](t)(query.New(.01, query.GradientAt(s.All(), w, 1)))
	return must[query.Release](t)(s.Ask(context.Background(), q)).Mean
}

// TestQuestionsBetweenRefinements: with questions before, between and after changes of the schema, also back to one of
// before, a session gives at each of them the answers of a session that was opened with the schema of that time: over
// rows in memory, in a private file and in shards, over single rows and over units, with knots and with effects. A
// question takes the same random bits whatever the number of features, so that answers are compared to the bit.
func TestQuestionsBetweenRefinements(t *testing.T) {
	of2 := must[loss.Loss](t)(loss.NewUnits(loss.Logistic(), 3, false))
	for _, test := range []struct {
		name   string
		parted *parted
		base   string
		loss   loss.Loss
	}{{"rows", newParted(t, 150), peopleSchema, loss.Logistic()}, {"units", newPartedUnits(t), unitSchema, of2}} {
		var knots, effects []*dataset.Schema
		for _, k := range []string{"4", "[0, 52.5, 100]", "[0, 10, 45, 52.5, 60, 100]", "[0, 52.5, 100]"} {
			knots = append(knots, bent(t, test.base, k))
		}
		bare := bent(t, test.base, "4")
		effects = append(effects, bare, withEffects(t, bare, 4), withEffects(t, bare, 3), withEffects(t, bare, 4))
		for kind, states := range map[string][]*dataset.Schema{"knots": knots, "effects": effects} {
			c := curator.Config{Path: test.parted.whole, Loss: test.loss, Schema: states[0],
				Budget: must[account.Budget](t)(account.NewBudget(4, 1e-6, account.ReplaceOne))}
			want := make([]string, len(states))
			for k, state := range states {
				c := c
				c.Schema = state
				s := must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, 5, nil))
				for range k + 1 {
					want[k] = answered(t, s, test.loss)
				}
				s.Close()
			}
			for way, open := range map[string]func() (*curator.Session, error){
				"memory": func() (*curator.Session, error) { return curator.OpenNoisy(context.Background(), c, 5, nil) },
				"file": func() (*curator.Session, error) {
					c := c
					c.Memory, c.Folder = 1000, t.TempDir()
					return curator.OpenNoisy(context.Background(), c, 5, nil)
				},
				"shards": func() (*curator.Session, error) {
					c := c
					c.Path, c.Shards = "", test.parted.shards(t, workers(t))
					return curator.OpenShards(context.Background(), c, 5)
				},
			} {
				s := must[*curator.Session](t)(open())
				for k, state := range states {
					if k > 0 {
						if err := s.Refine(state); err != nil {
							t.Fatalf("%s, %s, %s: change %d: %v", test.name, kind, way, k, err)
						}
					}
					if got := answered(t, s, test.loss); got != want[k] {
						t.Errorf("%s, %s, %s: after change %d:\n%.200s: must be\n%.200s", test.name, kind, way, k, got, want[k])
					}
				}
				s.Close()
			}
		}
	}
}

// TestEffectsAnswerAsIfOpenedSo: a session that is refined by a schema with features of effects gives the answers of a
// session that was opened with it, over rows in memory, where the features are kept, in a private file and in shards,
// over units, and by either relation. Their charges are those of any query, and nothing more.
func TestEffectsAnswerAsIfOpenedSo(t *testing.T) {
	single, units := newParted(t, 150), newPartedUnits(t)
	of2 := must[loss.Loss](t)(loss.NewUnits(loss.Logistic(), 3, false))
	for _, test := range []struct {
		name   string
		parted *parted
		base   string
		loss   loss.Loss
	}{{"rows", single, peopleSchema, loss.Logistic()}, {"units", units, unitSchema, of2}} {
		for _, relation := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
			b := must[account.Budget](t)(account.NewBudget(4, 1e-6, relation))
			bare := bent(t, test.base, "4")
			with := withEffects(t, bare, 3)
			c := curator.Config{Path: test.parted.whole, Loss: test.loss, Budget: b, Schema: with}
			if relation == account.AddOrRemove {
				c.Declared = 140
			}
			s := must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, 5, nil))
			want, events := answered(t, s, test.loss), s.Ledger().Events()
			s.Close()
			c.Schema = bare
			for way, open := range map[string]func() (*curator.Session, error){
				"memory": func() (*curator.Session, error) { return curator.OpenNoisy(context.Background(), c, 5, nil) },
				"file": func() (*curator.Session, error) {
					c := c
					c.Memory, c.Folder = 1000, t.TempDir()
					return curator.OpenNoisy(context.Background(), c, 5, nil)
				},
				"shards": func() (*curator.Session, error) {
					c := c
					c.Path, c.Shards = "", test.parted.shards(t, workers(t))
					return curator.OpenShards(context.Background(), c, 5)
				},
			} {
				s := must[*curator.Session](t)(open())
				for _, schema := range []*dataset.Schema{withEffects(t, bare, 4), with} {
					if err := s.Refine(schema); err != nil {
						t.Fatalf("%s, %s: %v", test.name, way, err)
					}
				}
				if got := answered(t, s, test.loss); got != want || !slices.Equal(s.Ledger().Events(), events) {
					t.Errorf("%s, %v, %s:\n%.200s: must be\n%.200s", test.name, relation, way, got, want)
				}
				s.Close()
			}
		}
	}
}

// TestRefinedShardsLoseWorkers: a worker that takes the place of a lost one after Refine answers by the refined
// schema, and one that was lost before does not disturb it.
func TestRefinedShardsLoseWorkers(t *testing.T) {
	p := newParted(t, 150)
	l := loss.Logistic()
	c := curator.Config{Path: p.whole, Loss: l, Schema: bent(t, peopleSchema, "5"),
		Budget: must[account.Budget](t)(account.NewBudget(4, 1e-6, account.ReplaceOne))}
	refined := bent(t, peopleSchema, "[0, 7, 100]")
	run := func(s *curator.Session, lose func()) string {
		defer s.Close()
		out := answered(t, s, l)
		if err := s.Refine(refined); err != nil {
			t.Fatal(err)
		}
		out += answered(t, s, l)
		lose()
		return out + answered(t, s, l)
	}
	want := run(must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, 5, nil)), func() {})
	var mu sync.Mutex
	var told []curator.Worker
	var ends []context.CancelFunc
	var all sync.WaitGroup
	defer all.Wait()
	start := func(w curator.Worker) {
		mu.Lock()
		defer mu.Unlock()
		ctx, end := context.WithCancel(context.Background())
		told, ends = append(told, w), append(ends, end)
		all.Go(func() { _ = curator.Serve(ctx, w) })
	}
	c.Path, c.Shards = "", p.shards(t, start)
	s := must[*curator.Session](t)(curator.OpenShards(context.Background(), c, 5))
	got := run(s, func() {
		for i := range 3 {
			ends[i]()
			start(told[i])
		}
	})
	if got != want {
		t.Errorf("%.600s: must be\n%.600s", got, want)
	}
}

// TestRefineRefuses: a schema under which rows would be stored differently, reduced rows, a closed session and a
// prefix sum from before are refused, and leave the session as it was.
func TestRefineRefuses(t *testing.T) {
	p := newParted(t, 90)
	l := loss.Logistic()
	c := curator.Config{Path: p.whole, Loss: l, Schema: bent(t, peopleSchema, "5"),
		Budget: must[account.Budget](t)(account.NewBudget(4, 1e-6, account.ReplaceOne))}
	s := must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, 5, nil))
	dim := s.Dim()
	other := func(old, new string) *dataset.Schema {
		return schema(t, strings.Replace(strings.Replace(peopleSchema, "age: {number: [0, 100]}",
			"age: {number: [0, 100], curve: 5}", 1)+"interactions: [[age, job]]\n", old, new, 1))
	}
	for name, refined := range map[string]*dataset.Schema{
		"none": nil, "zero": {}, "bounds": other("[0, 100]", "[0, 99]"),
		"auto": other("curve: 5", "curve: auto"), "no interaction": other("interactions: [[age, job]]", ""),
		"category": other("nurse", "baker"),
	} {
		if err := s.Refine(refined); err == nil {
			t.Errorf("%s: refined", name)
		}
	}
	sum, err := s.OpenPrefix(query.Prefix{Factorization: query.Tree, Items: 2, Sensitivity: 1, Charge: .01})
	if err != nil {
		t.Fatal(err)
	}
	if s.Dim() != dim || s.Ledger().Len() != 0 {
		t.Errorf("%d features, %d events: must be as before", s.Dim(), s.Ledger().Len())
	}
	if err := s.Refine(other("curve: 5", "curve: 6")); err != nil {
		t.Fatal(err)
	}
	some, err := s.Draw(20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sum.Add(context.Background(), query.GradientAt(some, make([]float64, s.Dim()), 1)); err == nil ||
		!strings.Contains(err.Error(), "before the session was refined") || s.Ledger().Len() != 0 {
		t.Errorf("added to an older prefix sum: %v", err)
	}
	if _, err := s.Ask(context.Background(), must[query.Question](t)(query.New(.01,
		query.GradientAt(s.All(), make([]float64, dim), 1)))); err == nil {
		t.Error("answered about the features of before")
	}
	s.Close()
	if err := s.Refine(other("curve: 5", "curve: 7")); err == nil || s.Dim() == dim {
		t.Errorf("a closed session: %v", err)
	}
	c.Reduce = must[*dataset.Projection](t)(dataset.ParseProjection("jl(3)", c.Schema.Dim()))
	s = must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, 5, nil))
	defer s.Close()
	if err := s.Refine(other("curve: 5", "curve: 6")); err == nil || !strings.Contains(err.Error(), "reduced") {
		t.Errorf("reduced rows: %v", err)
	}
}

// TestRefineWaits: Refine waits for a query that is being answered. Queries and Refine at the same time follow each
// other, each query about one schema.
func TestRefineWaits(t *testing.T) {
	p := newParted(t, 90)
	t.Run("one", func(t *testing.T) {
		c := curator.Config{Path: p.whole, Loss: loss.Logistic(), Schema: bent(t, peopleSchema, "5"),
			Budget: must[account.Budget](t)(account.NewBudget(4, 1e-6, account.ReplaceOne))}
		var s *curator.Session
		refined := make(chan error, 1)
		c.Reserve = func(context.Context, account.View) error { // called while the first query is answered
			go func() { refined <- s.Refine(bent(t, peopleSchema, "9")) }()
			select {
			case err := <-refined:
				t.Errorf("refined while a query is answered: %v", err)
				refined <- err
			case <-time.After(100 * time.Millisecond):
			}
			return nil
		}
		s = must[*curator.Session](t)(curator.Open(context.Background(), c))
		defer s.Close()
		dim := s.Dim()
		if _, err := s.Ask(context.Background(), must[query.Question](t)(query.New(.001,
			query.GradientAt(s.All(), make([]float64, dim), 1)))); err != nil {
			t.Error(err)
		}
		if err := <-refined; err != nil || s.Dim() == dim {
			t.Errorf("%d features after %v", s.Dim(), err)
		}
	})
	c := curator.Config{Path: p.whole, Loss: loss.Logistic(), Schema: bent(t, peopleSchema, "5"),
		Budget: must[account.Budget](t)(account.NewBudget(4, 1e-6, account.ReplaceOne))}
	s := must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, 5, nil))
	defer s.Close()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				w := make([]float64, s.Dim())
				// A query is refused if Refine came between. It must not be answered about mixed features.
				_, err := s.Ask(context.Background(), must[query.Question](t)(query.New(.001, query.GradientAt(s.All(), w, 1))))
				if err != nil && !strings.Contains(err.Error(), "coordinates") {
					t.Error(err)
				}
			}
		})
	}
	for i := range 20 {
		if err := s.Refine(bent(t, peopleSchema, fmt.Sprint(3+i%5))); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
}

// TestRefineFollowsThePresentSchema tests that a schema must refine the session's present one, and not the one that it began
// with: a curve that a refinement has left out does not come back. A schema that was refused leaves the present one.
func TestRefineFollowsThePresentSchema(t *testing.T) {
	p := newParted(t, 90)
	curved := bent(t, peopleSchema, "5")
	straight := schema(t, peopleSchema+"interactions: [[age, job]]\n")
	c := curator.Config{Path: p.whole, Loss: loss.Logistic(), Schema: curved,
		Budget: must[account.Budget](t)(account.NewBudget(4, 1e-6, account.ReplaceOne))}
	if straight.Refines(curved) != nil || curved.Refines(straight) == nil {
		t.Fatal("the schema without a curve must refine the one with it, and not the other way round")
	}
	s := must[*curator.Session](t)(curator.OpenNoisy(context.Background(), c, 5, nil))
	defer s.Close()
	for i, step := range []struct {
		schema  *dataset.Schema
		refines bool
	}{{bent(t, peopleSchema, "7"), true}, {curved, true}, {straight, true}, {curved, false}, {straight, true}, {bent(t, peopleSchema, "7"), false}} {
		dim := s.Dim()
		if err := s.Refine(step.schema); (err == nil) != step.refines {
			t.Errorf("step %d: %v", i, err)
		}
		if step.refines {
			dim = step.schema.Dim()
		}
		if s.Dim() != dim {
			t.Errorf("step %d: %d features: must be %d", i, s.Dim(), dim)
		}
	}
}
