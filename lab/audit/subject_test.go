package audit

import (
	"context"
	"flag"
	"maps"
	"math"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/simulate/recordtest"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/query"
)

// TestMain sets a higher garbage collection target, whatever GOGC says, because replays allocate much
// memory and keep little of it. Above a gigabyte garbage is collected more often.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1600)
	debug.SetMemoryLimit(1 << 30)
	os.Exit(m.Run())
}

// everySubject makes the list of all audited runs once, for all tests. In short runs algorithms
// have their default settings only.
var everySubject = sync.OnceValues(func() ([]Subject, error) {
	if testing.Short() {
		return subjectsWith(nil)
	}
	return Subjects()
})

func subjects(t *testing.T) []Subject {
	t.Helper()
	list, err := everySubject()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var long = flag.Bool("long", false, "search longer for records that move an answer by more than its charge")

// isVariant reports whether an audited run is an algorithm with settings that are not the defaults.
func isVariant(s Subject) bool { return strings.Contains(s.Name, "=") }

// TestNoRecordMovesMoreThanCharged audits all subjects that Subjects returns: every algorithm and every
// kind of query. No record may move an exact answer by more than the charged sensitivity, and in a replay
// with the released answers of the first run nothing else may depend on a record. For every kind of query,
// the worst records that the audit finds must move the answer by at least nine tenths of the charged
// sensitivity. An audit that finds less could miss a sensitivity that is wrong by a factor of two. If the
// first search finds no such records, a longer search is made.
func TestNoRecordMovesMoreThanCharged(t *testing.T) {
	worst, asking := map[string]float64{}, map[string][]Subject{}
	var replays, pairs int
	for i, s := range subjects(t) {
		effort := Effort{Positions: 1, Records: 24, Climbs: 3, Seed: 1}
		if *long {
			effort = Effort{Positions: 2, Records: 32, Climbs: 6, Seed: 1}
		}
		if testing.Short() { // a short audit finds only large faults
			if i%2 > 0 {
				continue
			}
			effort = Effort{Positions: 1, Records: 6, Climbs: -1, Seed: 1}
		}
		if isVariant(s) {
			if i%3 > 0 && !*long {
				continue
			}
			effort = Effort{Positions: 1, Records: 8, Climbs: 1, Seed: 1}
			if *long {
				effort = Effort{Positions: 1, Records: 20, Climbs: 2, Seed: 1}
			}
		}
		r, err := Run(context.Background(), s, effort)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		replays, pairs = replays+r.Replays, pairs+r.Pairs
		for _, v := range r.Violations {
			t.Errorf("%s: %v", s.Name, v)
		}
		refused := s.relation() == account.AddOrRemove && strings.Contains(r.Ended, "add-or-remove")
		if r.Ended != "" && !refused {
			t.Errorf("%s: ended with: %s", s.Name, r.Ended)
		}
		for _, f := range r.Findings {
			if !(f.Ratio <= 1) {
				t.Errorf("%s: %s: %v times the charged sensitivity", s.Name, f.Kind, f.Ratio)
			}
			key := f.Kind + ", " + r.Relation.String()
			worst[key] = max(worst[key], f.Ratio)
			asking[key] = append(asking[key], s)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(worst)) {
		for i := 0; i < len(asking[k]) && worst[k] < .9 && !testing.Short(); i++ {
			r, err := Run(context.Background(), asking[k][i], Effort{Positions: 4, Records: 64, Climbs: 12, Seed: 2})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				if !(f.Ratio <= 1) {
					t.Errorf("%s: %s: %v times the charged sensitivity", asking[k][i].Name, f.Kind, f.Ratio)
				}
				if f.Kind+", "+r.Relation.String() == k {
					worst[k] = max(worst[k], f.Ratio)
				}
			}
		}
	}
	t.Logf("%d replays, %d pairs of neighbours", replays, pairs)
	for _, k := range slices.Sorted(maps.Keys(worst)) {
		t.Logf("%-72s %.6f", k, worst[k])
		if worst[k] < .9 && !testing.Short() {
			t.Errorf("%s: the worst neighbours reach only %.3f of the charged sensitivity", k, worst[k])
		}
	}
}

// TestEveryAlgorithmIsEnrolled fails if an algorithm of package train is not audited.
func TestEveryAlgorithmIsEnrolled(t *testing.T) {
	list := subjects(t)
	for _, name := range train.Algorithms() {
		if !slices.ContainsFunc(list, func(s Subject) bool { return strings.HasPrefix(s.Name, name+", ") }) {
			t.Errorf("%s: is not enrolled", name)
		}
	}
}

// TestEverySettingIsEnrolled fails if a setting of package train is tried with no algorithm in the
// audits.
func TestEverySettingIsEnrolled(t *testing.T) {
	// The setting steps is set for all subjects. The setting measure is not part of a plan, and a script
	// covers it.
	tried := map[string]bool{"steps": true}
	for _, v := range variants() {
		for key := range v {
			tried[key] = true
		}
	}
	for _, name := range append(train.Algorithms(), "selected") {
		for _, s := range train.HelpOf(name) {
			if !tried[s.Key] {
				t.Errorf("train.%s, of %s: no variant sets it", s.Key, name)
			}
		}
	}
	for _, v := range variants() {
		if testing.Short() {
			break // the subjects have no settings
		}
		if setting := strings.TrimPrefix(title(train.Train{Settings: v}, "", account.ReplaceOne),
			" "); !slices.ContainsFunc(subjects(t), func(s Subject) bool {
			return strings.Contains(s.Name, strings.TrimSuffix(setting, ", , replace-one"))
		}) {
			t.Errorf("%s: no algorithm takes it", setting)
		}
	}
}

// TestEveryKindIsEnrolled fails if package query exports a kind of term, a mechanism of prefix
// sums, or a type of query that no hand-written run of the audit uses, under each relation that
// allows it.
func TestEveryKindIsEnrolled(t *testing.T) {
	asked := map[string]bool{}
	for _, s := range subjects(t) {
		trace, err := s.trace(context.Background(), s.Table, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range trace.exchanges {
			asked[reflect.TypeOf(x.Asked).Name()+" "+s.relation().String()] = true
			if x.Prefix != (query.Prefix{}) {
				asked[x.Prefix.Factorization.String()+" "+s.relation().String()] = true
			}
			for _, term := range s.terms(x) {
				asked[term.Kind().String()+" "+s.relation().String()] = true
			}
		}
	}
	kinds, mechanisms, questions := exported(t)
	if len(kinds) < 4 || len(mechanisms) < 2 || len(questions) < 2 {
		t.Fatalf("package query has %q, %q, %q: the test looks at the wrong thing", kinds, mechanisms, questions)
	}
	if len(kinds) != len(query.Kinds()) {
		t.Errorf("package query exports the kinds %q and has %v in its table", kinds, query.Kinds())
	}
	for _, r := range []account.Relation{account.ReplaceOne, account.AddOrRemove} {
		for _, k := range query.Kinds() {
			if !asked[k.String()+" "+r.String()] {
				t.Errorf("kind %v, %v: is asked by no subject", k, r)
			}
		}
		for i := range mechanisms {
			if name := query.Factorization(i + 1).String(); !asked[name+" "+r.String()] {
				t.Errorf("mechanism %s (%s), %v: is used by no subject", mechanisms[i], name, r)
			}
		}
		for _, name := range questions {
			if name == "Stable" && r == account.AddOrRemove {
				continue // the query is refused under this relation
			}
			if !asked[name+" "+r.String()] {
				t.Errorf("query.%s, %v: is asked by no subject", name, r)
			}
		}
	}
}

// exported returns the names of package query's exported constants for kinds and for mechanisms,
// and the names of its exported query types. A type counts as a query type if it has a name and a
// charge or an epsilon.
func exported(t *testing.T) (kinds, mechanisms, questions []string) {
	t.Helper()
	loaded,
		err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps}, reflect.TypeFor[query.Question]().PkgPath())
	if err != nil || len(loaded) != 1 || loaded[0].Types == nil {
		t.Fatalf("package query: %v, %v", loaded, err)
	}
	return exportedOf(loaded[0].Types)
}

// TestGeneratedTables tests that generated rows and targets are valid.
func TestGeneratedTables(t *testing.T) {
	for _, s := range subjects(t)[:1] {
		for i, row := range s.Table.Rows {
			var squares float64
			for _, v := range row {
				squares += float64(v) * float64(v)
			}
			if !(squares <= 1+1e-7) || math.Abs(s.Table.Targets[i]) > 1 {
				t.Errorf("record %d: squared norm %v, target %v", i, squares, s.Table.Targets[i])
			}
		}
	}
}

var _ Session = (*recordtest.Recording)(nil)
