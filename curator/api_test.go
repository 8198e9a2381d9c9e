package curator_test

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"testing"

	"golang.org/x/tools/go/packages"
)

// carriers lists every exported function, method, variable and field of the package through which a value
// could leave. The map's value is the reason why it carries only results that were charged for. A new
// function, method, variable or field without a reason fails TestNothingElseCanCarryRecords. Serve is not
// in the list, since its results carry nothing. It sends exact sums to whoever has its key, over an
// encrypted connection, and the session at the other end adds the noise.
var carriers = map[string]string{
	"(*Session).Ask":          "the release: noise added, charge reserved first",
	"(*Session).OpenPrefix":   "a *PrefixSum, opaque; nothing is computed yet",
	"(*Session).Select":       "an index, drawn by the exponential mechanism, charge reserved first",
	"(*Session).Stable":       "the release: noise added, charge reserved first",
	"TakesStable":             "reads a loss; no session and no table",
	"(*PrefixSum).Add":        "the release: noise added, charge reserved first",
	"(PrefixSum).String":      "a fixed text",
	"(PrefixSum).GoString":    "a fixed text",
	"(PrefixSum).MarshalJSON": "a fixed text",
	"(PrefixSum).LogValue":    "a fixed text",
	"(PrefixSum).Format":      "a fixed text; writes to its argument",
	"(*Session).All":          "an identifier and the declared number of records, public by the relation",
	"(*Session).Draw":         "an identifier and the size that was asked for",
	"(*Session).Follow":       "reads the schedule it is given and writes nothing to it",
	"(*Session).Sample":       "an identifier and an expected size, from the schedule and the declared number of records",
	"(*Session).DrawEach":     "an identifier and an expected size, from the declared number of records",
	"(*Session).Dim":          "the number of features, which the schema fixes",
	"(*Session).Refine":       "copies the schema it is given; its errors are about that schema, or a fixed text",
	"(*Session).PublicSeed":   "fresh coins, of no record and of no noise",
	"(*Session).Ledger":       "laws of noise and charges, functions of the questions alone; of the records what All and the schema state",
	"(Session).String":        "a fixed text",
	"(Session).GoString":      "a fixed text",
	"(Session).MarshalJSON":   "a fixed text",
	"(Session).LogValue":      "a fixed text",
	"(Session).Format":        "a fixed text; writes to its argument",
	"Open":                    "a session, opaque; errors name file and rule",
	"Rows.Header":             "the caller's, who gives it; read while a session is opened",
	"Rows.Cells":              "the caller's, who gives it; shown nothing but whether to go on",
	"RowsOf":                  "the caller's records, which it gives; no session and no table",
	"Text":                    "a name and a function of the caller's",
	"Number":                  "a name and a function of the caller's",
	"KeptEffects":             "a function of its arguments; no session and no table",
	"PaceOf":                  "measured on rows that are made up here; no session and no table",
	"NewShardKey":             "a fresh key, of no record and of no noise",
	"ParseShardKey":           "the caller's key",
	"(ShardKey).Reveal":       "the key, which whoever starts workers gives to them",
	"Shards.Count":            "the caller's, who gives it",
	"Shards.Listen":           "the caller's, who gives it",
	"Shards.Key":              "the caller's, who gives it",
	"Shards.Version":          "the caller's, who gives it",
	"Shards.Silence":          "the caller's, who gives it",
	"Shards.Patience":         "the caller's, who gives it",
	"Shards.Listening":        "the caller's; shown the address at which workers connect",
	"Shards.Told":             "the caller's; shown which partitions are ready or lost",
	"ShardEvent.Partition":    "the number of a partition",
	"ShardEvent.Ready":        "whether a partition has a worker",
	"Worker.Connect":          "the caller's, who gives it",
	"Worker.Key":              "the caller's, who gives it",
	"Worker.Version":          "the caller's, who gives it",
	"Worker.Partition":        "the caller's, who gives it",
	"Worker.Attempt":          "the caller's, who gives it",
	"Worker.Paths":            "the caller's, who gives it",
	"Worker.Reader":           "the caller's stream; read once",
	"Worker.Workers":          "the caller's, who gives it",
	"Worker.BlockRows":        "the caller's, who gives it",
	"Worker.Memory":           "the caller's, who gives it",
	"Worker.Folder":           "the caller's, who gives it",
	"Worker.Wait":             "the caller's, who gives it",
	"ErrShardLost":            "a fixed error",
	"ErrShardSpare":           "a fixed error",
	"Count":                   "the number of rows the public filter keeps, public under replace-one",
	"ErrClosed":               "a fixed error",
}

// TestNothingElseCanCarryRecords walks the package's exported identifiers by type, to find every way
// in which a value computed from records could leave. It can leave through a result other than an
// error, through an argument that can be written to (a pointer, slice, map, channel, function, or
// interface other than context.Context), through an exported variable, and through an exported field
// of a type that is handed out.
func TestNothingElseCanCarryRecords(t *testing.T) {
	pkgs,
		err := packages.Load(&packages.Config{Mode: packages.NeedTypes | packages.NeedName | packages.NeedImports | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedExportFile}, "github.com/stillpoint-dp/stillpoint/curator")
	if err != nil || len(pkgs) != 1 || len(pkgs[0].Errors) > 0 {
		t.Fatalf("load: %v %v", err, pkgs)
	}
	found := map[string]bool{}
	scope := pkgs[0].Types.Scope()
	for _, name := range scope.Names() {
		o := scope.Lookup(name)
		if !o.Exported() {
			continue
		}
		switch o := o.(type) {
		case *types.Func:
			if carries(o.Type().(*types.Signature)) {
				found[name] = true
			}
		case *types.Var:
			found[name] = true
		case *types.TypeName:
			for _, f := range exportedFields(o.Type()) {
				if name == "Config" { // Config is an argument that is passed by value
					continue
				}
				found[name+"."+f] = true
			}
			for _, recv := range []types.Type{o.Type(), types.NewPointer(o.Type())} {
				set := types.NewMethodSet(recv)
				for i := range set.Len() {
					m := set.At(i).Obj().(*types.Func)
					sig := m.Type().(*types.Signature)
					if !m.Exported() || !carries(sig) {
						continue
					}
					found[receiver(sig, name)+"."+m.Name()] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if carriers[name] == "" {
			t.Errorf("%s can carry a value out and is not listed with a reason", name)
		}
	}
	for name := range carriers {
		if !found[name] {
			t.Errorf("%s is listed but is not there", name)
		}
	}
	// A Session and a PrefixSum hold one pointer and nothing else.
	for _, name := range []string{"Session", "PrefixSum"} {
		s := scope.Lookup(name).Type().Underlying().(*types.Struct)
		if s.NumFields() != 1 {
			t.Errorf("%s has %d fields, want one", name, s.NumFields())
		} else if _, ok := s.Field(0).Type().(*types.Pointer); !ok || s.Field(0).Exported() {
			t.Errorf("%s's field is %v, want an unexported pointer", name, s.Field(0).Type())
		}
	}
}

func receiver(sig *types.Signature, name string) string {
	if _, ok := sig.Recv().Type().(*types.Pointer); ok {
		return fmt.Sprintf("(*%s)", name)
	}
	return fmt.Sprintf("(%s)", name)
}

func carries(sig *types.Signature) bool {
	for r := range sig.Results().Variables() {
		if r.Type().String() != "error" {
			return true
		}
	}
	for p := range sig.Params().Variables() {
		if p.Type().String() != "context.Context" && writable(p.Type()) {
			return true
		}
	}
	return false
}

func writable(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
		return true
	}
	return false
}

func exportedFields(t types.Type) []string {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	var names []string
	for f := range s.Fields() {
		if f.Exported() {
			names = append(names, f.Name())
		}
	}
	return names
}
