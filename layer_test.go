package stillpoint_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/stillpoint-dp/stillpoint"

// layers states which packages of the module, and which third-party modules, a
// package may import directly. What is not listed is forbidden. It is changed
// by a decision recorded in docs/adr, never to mend a build.
var layers = map[string]struct {
	local, others []string
	// barred lists standard packages kept out.
	barred []string
}{
	"":                        {},
	"account":                 {others: []string{"gonum.org/v1/gonum"}, barred: []string{"math/rand", "math/rand/v2", "crypto/rand", "os", "net"}},
	"loss":                    {},
	"convex":                  {},
	"query":                   {local: []string{"account"}},
	"dataset":                 {others: []string{"github.com/goccy/go-yaml"}},
	"losstest":                {local: []string{"loss"}},
	"optimize":                {local: []string{"account", "loss", "convex", "query"}, barred: []string{"os", "net", "crypto/rand", "unsafe", "reflect", "math/rand"}},
	"optimizetest":            {local: []string{"optimize", "loss", "query", "account"}},
	"curator":                 {local: kernelMay, barred: randomness},
	"curator/simulate":        {local: kernelMay, barred: randomness},
	"curator/internal/row":    {local: kernelMay, barred: randomness},
	"curator/internal/engine": {local: kernelMay, barred: randomness},
	"curator/internal/coin":   {local: kernelMay, barred: []string{"math/rand"}},
	"curator/internal/noise":  {local: kernelMay, barred: randomness},
	"curator/internal/kernel": {local: kernelMay, barred: randomness},
	"internal/durable":        {},
	"silence":                 {others: []string{"golang.org/x/sys"}},
	"internal/table":          {local: []string{"dataset"}},
	"stationarity":            {local: []string{"loss"}, others: []string{"gonum.org/v1/gonum"}},
	"experiment":              {local: []string{"account", "loss", "convex", "query", "dataset", "optimize", "curator/simulate", "stationarity", "train", "report", "internal/durable"}, others: []string{"github.com/goccy/go-yaml", "gonum.org/v1/gonum"}},
	"audit":                   {local: []string{"account", "loss", "convex", "query", "dataset", "optimize", "curator", "curator/simulate", "stationarity", "train", "report"}, others: []string{"gonum.org/v1/gonum"}},
	"report":                  {local: []string{"account", "model", "certificate", "dataset"}, others: []string{"gonum.org/v1/plot"}},
	"model":                   {local: []string{"loss", "dataset", "internal/table", "internal/durable"}},
	"certificate":             {local: []string{"account", "internal/durable"}},
	"train":                   {local: []string{"account", "loss", "convex", "query", "dataset", "optimize", "curator", "model", "certificate", "internal/durable"}, others: []string{"github.com/goccy/go-yaml", "github.com/gofrs/flock"}},
	"cmd/stillpoint":          {local: []string{"silence", "train", "audit", "experiment", "report", "model", "certificate", "dataset", "account", "internal/table"}, others: []string{"github.com/alecthomas/kong", "github.com/schollz/progressbar/v3", "golang.org/x/term", "gonum.org/v1/plot"}},
}

// kernelMay is what everything below curator may import.
var kernelMay = []string{
	"account", "loss", "query", "convex", "dataset", "internal/table",
	"curator/internal/row", "curator/internal/engine", "curator/internal/coin", "curator/internal/noise", "curator/internal/kernel",
}

var randomness = []string{"math/rand", "math/rand/v2", "crypto/rand"}

// testing says what tests may import beyond their package's own row: itself,
// and these.
var testLocal = map[string][]string{
	"loss":             {"losstest"},
	"optimize":         {"optimizetest"},
	"curator/simulate": {"optimize", "optimizetest"},
	"curator":          {"optimize"},
	"model":            {},
	"audit":            {"audit/testdata/naive"},
}

var testOthers = []string{
	"pgregory.net/rapid", "github.com/google/go-cmp", "gonum.org/v1/gonum",
	"github.com/rogpeppe/go-internal", "golang.org/x/tools", "golang.org/x/sys", "github.com/goccy/go-yaml",
}

type listed struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func list(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestLayers(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range list(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		seen[name] = true
		row, known := layers[name]
		if !known {
			t.Errorf("package %q is not in the table", name)
			continue
		}
		for _, i := range p.Imports {
			if !allowed(i, row.local, row.others) {
				t.Errorf("%s imports %s: not in its row", name, i)
			}
			if slices.Contains(row.barred, i) {
				t.Errorf("%s imports %s: barred", name, i)
			}
		}
		local := append(append([]string{name}, row.local...), testLocal[name]...)
		others := append(append([]string(nil), row.others...), testOthers...)
		for _, i := range append(p.TestImports, p.XTestImports...) {
			if !allowed(i, local, others) {
				t.Errorf("%s's tests import %s: not in their row", name, i)
			}
		}
	}
	for name := range layers {
		if !seen[name] {
			t.Errorf("the table lists %q, which is no package", name)
		}
	}
}

// allowed reports whether an import is standard, in local (packages of the
// module) or below one of others (third-party modules).
func allowed(path string, local, others []string) bool {
	if rest, ok := strings.CutPrefix(path, module); ok {
		return slices.Contains(local, strings.TrimPrefix(rest, "/"))
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return true
	}
	for _, o := range others {
		if path == o || strings.HasPrefix(path, o+"/") {
			return true
		}
	}
	return false
}

// Only audit, experiment and tests may reach simulated sessions.
func TestSimulationStaysOut(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if name == "audit" || name == "experiment" {
			continue
		}
		if slices.Contains(p.Imports, module+"/curator/simulate") {
			t.Errorf("%s imports curator/simulate", name)
		}
	}
}
