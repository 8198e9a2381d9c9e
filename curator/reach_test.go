package curator_test

import (
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/stillpoint-dp/stillpoint/"

// reached lists every type that the package's exported identifiers take or return, and whose values can be
// assigned to, written to or kept. The map's value is the reason why this influences no answer. The attacks
// on types marked "attacks" are in TestWhatOthersHoldDecidesNothing.
var reached = map[string]string{
	"*curator.Session":  "a handle: attacks",
	"curator.Session":   "a handle: one pointer to the wall, which nothing outside can name; attacks",
	"curator.PrefixSum": "a handle, as a session is; attacks",
	"query.PrefixSum":   "a *PrefixSum; attacks",
	"curator.Config":    "read once, when the session is opened; attacks",
	"*curator.Rows":     "read and encoded while the session is opened; nothing of it is kept; attacks",
	"*dataset.Schema":   "copied when the session is opened; nothing of it is kept; attacks",
	"loss.Loss":         "trusted code; its constants decide no clip and no charge but of proven losses, which are values; attacks",
	"*account.Schedule": "copied when it is followed, and whenever it is shown; attacks",
	"account.Schedule":  "one pointer to what never changes; attacks",
	"account.View":      "one pointer to a ledger, without a method that writes; attacks",
	"[]account.Event":   "a copy of the ledger's; attacks",
	"query.Question":    "immutable, and taken by value; attacks",
	"query.Selection":   "immutable, and taken by value; attacks",
	"query.Stable":      "immutable, and taken by value; attacks",
	"query.Term":        "immutable, and taken by value; attacks",
	"query.Prefix":      "a value without pointers, taken by value",
	"query.Metric":      "one pointer to what never changes, made of a copy; query's TestMetricIsItsOwn",
	"query.Pass":        "copied whenever it is taken or given; attacks",
	"query.Release":     "of no further use to the session once given; attacks",
	"query.Cohort":      "a value without pointers; forged ones are refused, see TestForgedHandles",
	"[]float64":         "copied whenever taken or given; attacks",
	"[]query.Term":      "copied whenever taken or given; attacks",
	"[]query.Question":  "copied whenever given; attacks",
	"var ErrClosed":     "compared with by callers, never by the session; attacks",
	"error":             "made for its receiver, or fixed and compared with by callers only",

	"curator.Rows":               "as *curator.Rows",
	"iter.Seq2[[]string, error]": "the caller's; asked while the session is opened, and its yield is deaf from then on",
	"io.Reader":                  "the caller's; read to its end while the session is opened, and never after",
	"curator.Column[T any]":      "a name and a function of the caller's, part of rows",
	"curator.Column[T]":          "a name and a function of the caller's, part of rows",
	"[]curator.Column[T]":        "the caller's, part of rows",
	"T":                          "a record of the caller's, part of rows",
	"[]T":                        "the caller's, part of rows",

	"account.Budget":         "a value without pointers",
	"account.Guarantee":      "a value without pointers",
	"account.Event":          "a value without pointers",
	"account.Records":        "a value without pointers, of public facts",
	"account.Unit":           "a value without pointers",
	"account.Filter":         "a value without pointers",
	"account.Journal":        "values and a copy of the ledger's events, as the []account.Event is",
	"account.SampledSteps":   "a value without pointers",
	"[]account.SampledSteps": "a copy of the schedule's",
	"query.ClipBall":         "a value without pointers",
	"query.Smoothing":        "a value without pointers",
	"query.Directions":       "a value without pointers: public coins, drawn again from a term's own words",
	"query.Facts":            "a value without pointers",
	"loss.Constants":         "a value without pointers, given by the loss",
	"loss.CurvatureInterval": "a value without pointers",
	"context.Context":        "the caller's; decides only whether to go on; goroutines that hold records ask the standard library's own",
	"fmt.State":              "the caller's; given a fixed text",
	"log/slog.Value":         "a fixed text",
	"[]byte":                 "a fixed text",

	// types in the methods of a schema
	"dataset.Schema":                    "as *dataset.Schema",
	"*dataset.Map":                      "bound to columns by the schema's caller; the session binds its own while it opens",
	"dataset.Map":                       "as *dataset.Map",
	"*dataset.ColumnMap":                "as *dataset.Map",
	"dataset.ColumnMap":                 "as *dataset.Map",
	"[][]float64":                       "readings of cells; given by the caller of a map",
	"curator.Pace":                      "a value; of made-up rows",
	"[]query.Kind":                      "names of functions; given by the caller of PaceOf",
	"dataset.Column":                    "a schema copies what it gives",
	"[]dataset.Column":                  "a schema copies what it gives",
	"dataset.Coefficient":               "a value",
	"dataset.Term":                      "a value",
	"[]dataset.Term":                    "a schema copies what it gives",
	"dataset.Part":                      "a value",
	"[]dataset.Part":                    "a schema copies what it gives",
	"[]dataset.Coefficient":             "a schema copies what it gives",
	"dataset.Filter":                    "a value",
	"dataset.Unit":                      "a value",
	"dataset.Hashing":                   "a value",
	"dataset.Target":                    "a schema copies what it gives",
	"dataset.CSV":                       "read once, while the session is opened",
	"[]bool":                            "a map copies what it gives",
	"dataset.Exposure":                  "a schema copies what it gives",
	"*curator.Shards":                   "the caller's; read while the session opens",
	"curator.Shards":                    "as *curator.Shards",
	"curator.ShardEvent":                "a value without pointers: a partition and whether it is ready",
	"curator.ShardKey":                  "made before any record is read; nothing outside of curator can open it",
	"curator.Worker":                    "the caller's words for a process that holds a partition; a session has none",
	"var ErrShardLost":                  "a fixed text",
	"var ErrShardSpare":                 "a fixed text",
	"*dataset.Projection":               "a public map, copied when the session is opened",
	"dataset.Projection":                "as *dataset.Projection",
	"dataset.Interaction":               "a value",
	"[]dataset.Hats":                    "a schema copies what it gives",
	"dataset.Hats":                      "a schema copies what it gives",
	"[]dataset.Axis":                    "a schema copies what it gives",
	"dataset.Axis":                      "a schema copies what it gives",
	"dataset.Effects":                   "a schema copies what it gives",
	"dataset.FeatureRange":              "a value, made anew for whoever asks",
	"[]dataset.FeatureRange":            "made anew for whoever asks",
	"dataset.Resolved":                  "a value",
	"[]dataset.Projected":               "made anew for whoever asks",
	"dataset.Projected":                 "a value",
	"[]dataset.Shape":                   "made anew for whoever asks",
	"dataset.Shape":                     "made anew for whoever asks",
	"[]dataset.ShapeAxis":               "a shape copies what it gives",
	"dataset.ShapeAxis":                 "a shape copies what it gives",
	"[]dataset.Place":                   "made anew for whoever asks",
	"dataset.Place":                     "made anew for whoever asks",
	"dataset.Group":                     "a value",
	"[]dataset.Group":                   "made anew for whoever asks",
	"[]uint32":                          "codes are written to room that the caller gives; the session gives its own while it opens",
	"[]dataset.Interaction":             "a schema copies what it gives",
	"[]string":                          "a schema copies what it gives",
	"[]float32":                         "the caller's row, which a map writes",
	"[]int":                             "features of the caller's question, which the session reads",
	"[]int64":                           "the caller's, to which a metric writes one of its rows",
	"github.com/goccy/go-yaml/ast.Node": "the caller's; a schema is read from it",
}

// TestEverythingReachableIsListed walks the exported identifiers by type: arguments and results of
// functions and methods, exported fields, and the types reachable from them.
func TestEverythingReachableIsListed(t *testing.T) {
	pkgs,
		err := packages.Load(&packages.Config{Mode: packages.NeedTypes | packages.NeedName | packages.NeedImports | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedExportFile}, module+"curator")
	if err != nil || len(pkgs) != 1 || len(pkgs[0].Errors) > 0 {
		t.Fatalf("load: %v %v", err, pkgs)
	}
	w := walker{found: map[string]bool{}}
	scope := pkgs[0].Types.Scope()
	for _, name := range scope.Names() {
		if o := scope.Lookup(name); o.Exported() {
			w.walk(o.Type())
			if _, ok := o.(*types.Var); ok {
				w.found["var "+name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.found)) {
		if reached[name] == "" {
			t.Errorf("%s can be reached from a session and is not listed with a reason", name)
		}
	}
	for name, why := range reached {
		if !w.found[name] {
			t.Errorf("%s is listed and cannot be reached", name)
		}
		if strings.HasSuffix(why, "attacks") != (attacks[name] != nil) {
			t.Errorf("%s: %q, attacked %t", name, why, attacks[name] != nil)
		}
	}
	for name := range attacks {
		if reached[name] == "" {
			t.Errorf("%s is attacked and not listed", name)
		}
	}
}

// walker collects the types whose values a caller can assign to, write to or keep.
type walker struct{ found map[string]bool }

func (w *walker) walk(t types.Type) {
	name := types.TypeString(t, func(p *types.Package) string { return strings.TrimPrefix(p.Path(), module) })
	if w.found[name] {
		return
	}
	if u, ok := t.(*types.Signature); ok {
		for _, list := range []*types.Tuple{u.Params(), u.Results()} {
			for v := range list.Variables() {
				w.walk(v.Type())
			}
		}
		return
	}
	if _, ok := t.Underlying().(*types.Basic); !ok {
		w.found[name] = true
	}
	if u, ok := t.(*types.Named); ok && (u.Obj().Pkg() == nil || !strings.HasPrefix(u.Obj().Pkg().Path()+"/", module)) {
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		w.walk(u.Elem())
	case *types.Slice:
		w.walk(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if f.Exported() {
				w.walk(f.Type())
			}
		}
	}
	set := types.NewMethodSet(types.NewPointer(t))
	if types.IsInterface(t) {
		set = types.NewMethodSet(t)
	}
	for i := range set.Len() {
		if m := set.At(i).Obj(); m.Exported() {
			w.walk(m.Type())
		}
	}
}
