package repotest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/stillpoint-dp/stillpoint"

// layers states, for each package, which packages of the module and which third-party modules it may import
// directly. Everything else is forbidden. A change needs a decision recorded in docs/explanation/decisions;
// it must not be made to repair a build.
var layers = map[string]struct {
	local, others []string
	// barred lists standard packages that the package must not import, including the packages below
	// them.
	barred []string
}{
	"": {local: []string{"account", "budget", "certificate", "curator", "dataset", "loss", "model", "optimize",
		"internal/crashsafe", "internal/fitting", "internal/regularfile", "internal/runfolder", "internal/train"}},
	"internal/fitting": {local: []string{"curator", "internal/safetext", "internal/report", "internal/runfolder",
		"internal/train", "optimize"}},
	"account": {local: []string{"account/internal/round", "account/mechanism", "internal/memo",
		"internal/safetext"}, barred: randomness},
	"account/mechanism": {local: []string{"account/internal/round", "internal/memo", "internal/strictjson",
		"internal/vector"},
		others: []string{"gonum.org/v1/gonum"}, barred: randomness},
	"account/internal/round":          {},
	"internal/memo":                   {},
	"loss":                            {local: []string{"internal/targetpair", "internal/repromath", "internal/simd", "internal/vector"}},
	"internal/testloss":               {local: []string{"loss"}},
	"convex":                          {},
	"budget":                          {local: []string{"account/mechanism", "account", "internal/holder"}},
	"internal/holder":                 {},
	"internal/budgetstore/budgettest": {local: []string{"account/mechanism", "account", "budget", "internal/holder"}},
	"internal/budgetstore/sqlstore":   {local: []string{"budget"}},
	"internal/budgetstore/sqlite": {local: []string{"budget", "internal/budgetstore/sqlstore"},
		others: []string{"modernc.org/sqlite"}},
	"internal/budgetstore/postgres": {local: []string{"budget", "internal/budgetstore/sqlstore"},
		others: []string{"github.com/jackc/pgx/v5"}},
	"budget/stores":       {local: []string{"budget", "internal/budgetstore/sqlite", "internal/budgetstore/postgres"}},
	"query":               {local: []string{"account", "internal/codec", "internal/simd"}},
	"internal/querytest":  {local: []string{"query"}},
	"internal/cellstatus": {},
	"internal/decimal":    {},
	"internal/autobounds": {},
	"internal/means":      {local: []string{"dataset", "internal/inference", "internal/targetpair", "model"}},
	"internal/describe": {local: []string{"internal/vector", "dataset", "internal/autobounds", "internal/inference", "internal/safetext",
		"internal/spline", "internal/targetpair", "loss", "query"}, barred: randomness},
	"dataset": {local: []string{"internal/vector", "internal/autobounds", "internal/targetpair", "internal/effects", "internal/repromath", "internal/cellstatus", "internal/decimal", "internal/spline",
		"internal/columnname", "internal/safetext", "internal/yamltext"},
		others: []string{"github.com/goccy/go-yaml"}},
	"internal/columnname": {},
	"internal/yamltext":   {local: []string{"internal/vector", "internal/safetext"}},
	"internal/losscheck":  {local: []string{"loss"}},
	"losstest":            {local: []string{"internal/losscheck", "loss"}},
	"optimize": {local: []string{"account/mechanism", "internal/runrecord", "internal/inference",
		"internal/vector", "account", "loss", "convex", "query"}},
	"optimizetest": {local: []string{"optimize", "loss", "query", "account", "optimize/forecast",
		"convex"}},
	"curator": {local: []string{"account", "dataset", "loss", "query", "internal/effects", "internal/targetpair", "internal/spline", "internal/mutualtls",
		"internal/table",
		"curator/internal/coin", "curator/internal/engine", "curator/internal/session", "curator/internal/row",
		"curator/internal/wire"}, barred: randomness},
	"curator/simulate/recordtest": {local: []string{"curator/simulate", "query"}},
	"curator/simulate": {local: []string{"account", "loss", "query", "curator/internal/coin",
		"curator/internal/engine", "curator/internal/session", "curator/internal/row"}, barred: randomness},
	"curator/internal/row": {local: []string{"internal/targetpair", "internal/effects", "internal/spline"},
		others: []string{"golang.org/x/sys/cpu"}, barred: randomness},
	"curator/internal/row/rowtest": {local: []string{"curator/internal/row"}},
	"curator/internal/engine": {local: []string{"loss", "query", "internal/targetpair", "internal/simd", "curator/internal/row"},
		others: []string{"golang.org/x/sys/cpu"}, barred: randomness},
	"curator/internal/wire": {local: []string{"internal/codec", "loss", "query", "curator/internal/coin", "curator/internal/engine",
		"curator/internal/row"},
		barred: randomness},
	"curator/internal/engine/enginetest": {local: []string{"internal/targetpair", "curator/internal/engine",
		"curator/internal/row", "curator/internal/row/rowtest", "loss", "internal/testloss", "query"}},
	"curator/internal/coin":  {barred: []string{"math/rand"}},
	"curator/internal/noise": {local: []string{"curator/internal/coin"}, barred: randomness},
	"curator/internal/session": {local: []string{"account", "loss", "query", "curator/internal/coin",
		"curator/internal/engine", "curator/internal/noise"}, barred: randomness},
	"internal/targetpair": {},
	"internal/effects":    {local: []string{"internal/repromath"}},
	"internal/spline":     {},
	"internal/synthetic": {local: []string{"internal/vector", "dataset", "internal/effects", "internal/repromath", "internal/simd",
		"internal/spline"}},
	"internal/mutualtls":    {}, // the only package with crypto/tls (docs/explanation/decisions/0039)
	"internal/repromath":    {others: []string{"golang.org/x/sys/cpu"}},
	"internal/simd":         {others: []string{"golang.org/x/sys/cpu"}},
	"internal/codec":        {},
	"internal/recordedtest": {},
	"internal/vector":       {},
	"internal/durable":      {local: []string{"internal/regularfile"}},
	"internal/safetext":     {},
	"internal/strictjson":   {local: []string{"internal/safetext"}},
	"internal/strictyaml":   {local: []string{"internal/safetext"}, others: []string{"github.com/goccy/go-yaml"}},
	"internal/table": {local: []string{"internal/vector", "internal/decimal", "internal/parquet", "internal/regularfile"},
		others: []string{"github.com/klauspost/compress", "golang.org/x/text"}},
	"internal/parquet": {others: []string{"github.com/klauspost/compress",
		"github.com/andybalholm/brotli", "github.com/pierrec/lz4/v4"}},
	"stationarity": {local: []string{"internal/vector", "loss"},
		others: []string{"gonum.org/v1/gonum"}},
	"internal/report": {local: []string{"internal/vector", "account/mechanism", "internal/targetpair", "internal/describe", "internal/spline", "internal/synthetic", "internal/inference", "internal/regularfile", "account",
		"model", "certificate", "dataset", "internal/runrecord", "internal/ledgerfile", "internal/safetext"},
		others: []string{"gonum.org/v1/gonum"}},
	"internal/arrowfile": {},
	"model": {local: []string{"internal/arrowfile", "internal/parquet", "model/contrast", "internal/targetpair", "internal/inference", "account", "internal/vector", "internal/regularfile",
		"loss", "dataset", "internal/table", "internal/durable", "internal/safetext", "internal/strictjson", "stationarity"}},
	"certificate": {local: []string{"account/mechanism", "internal/regularfile", "account",
		"internal/durable", "internal/safetext", "internal/strictjson"}},
	"internal/train": {local: []string{"internal/vector", "account/mechanism", "internal/describe", "internal/targetpair", "internal/runrecord", "internal/inference", "internal/synthetic",
		"optimize/onestep", "internal/regularfile", "internal/table", "account", "budget", "loss", "convex", "query", "dataset",
		"optimize", "curator", "model", "certificate", "internal/holder", "internal/safetext", "internal/strictyaml",
		"internal/ledgerfile",
		"optimize/choose", "optimize/firstorder", "optimize/onepass", "optimize/recursive", "optimize/kl",
		"optimize/nonsmooth", "optimize/secondorder"}},
	"internal/runrecord": {},
	"internal/inference": {local: []string{"model/contrast"}, others: []string{"gonum.org/v1/gonum"}, barred: randomness},
	"model/contrast":     {},
	"internal/runfolder": {local: []string{"internal/runrecord", "account", "budget",
		"optimize", "certificate", "internal/train", "internal/durable", "internal/holder", "internal/ledgerfile", "internal/safetext",
		"dataset"},
		others: []string{"github.com/gofrs/flock"}},
	"export": {local: []string{"internal/vector", "loss", "dataset", "model", "internal/safetext",
		"internal/effects", "internal/repromath", "internal/spline", "internal/targetpair"}},
	"cmd/stillpoint": {local: []string{"internal/vector", "account/mechanism", "", "internal/columnname", "internal/fitting", "internal/means", "internal/yamltext", "internal/inference", "internal/regularfile",
		"export", "internal/crashsafe", "budget", "budget/stores", "internal/train", "internal/runfolder",
		"internal/report", "model",
		"certificate", "dataset", "account", "internal/table", "internal/safetext", "internal/sshsig", "internal/inspect"},
		others: []string{"github.com/alecthomas/kong", "golang.org/x/term"}},
	"internal/regularfile":   {},
	"internal/repotest":      {},
	"internal/repotest/face": {others: []string{"golang.org/x/tools"}},
	"tools/face":             {local: []string{"internal/repotest/face"}},
	"internal/repotest/size": {},
	"tools/size":             {local: []string{"internal/repotest/face", "internal/repotest/size"}},
	"internal/inspect": {local: []string{"dataset", "internal/cellstatus", "internal/safetext", "internal/table",
		"internal/yamltext"},
		others: []string{"golang.org/x/text"}}, // imported by the command only (docs/explanation/decisions/0031)
	"internal/crashsafe":           {others: []string{"golang.org/x/sys"}},
	"examples/service":             {local: []string{"", "dataset", "loss"}},
	"examples/loss":                {local: []string{"account", "curator", "dataset", "loss", "optimize", "optimize/choose"}},
	"internal/sshsig":              {others: []string{"golang.org/x/crypto"}},
	"internal/train/trialtest":     {},
	"internal/durable/durabletest": {local: []string{"internal/durable", "internal/holder"}},
	"internal/ledgerfile":          {local: []string{"account/mechanism", "account", "internal/strictjson"}},
	"optimize/forecast":            {local: []string{"internal/vector", "optimize"}},
	"optimize/firstorder": {local: append([]string{"internal/simd", "internal/vector", "loss"}, familyMay...),
		others: []string{"gonum.org/v1/gonum"}},
	"optimize/onepass": {local: []string{"internal/vector", "query", "optimize", "optimize/forecast"}},
	"optimize/onestep": {local: []string{"internal/inference", "internal/vector", "optimize", "query"},
		others: []string{"gonum.org/v1/gonum"}},
	"optimize/recursive": {local: append([]string{"convex", "internal/vector"}, familyMay...)},
	"optimize/kl":        {local: []string{"convex", "loss", "optimize", "optimize/firstorder", "optimize/forecast", "query"}},
	"optimize/choose": {local: []string{"account", "optimize", "optimize/firstorder",
		"optimize/onepass", "optimize/recursive", "optimize/kl", "optimize/nonsmooth", "optimize/secondorder"}},
	"optimize/nonsmooth":   {local: append([]string{"internal/vector", "optimize/firstorder"}, familyMay...)},
	"optimize/secondorder": {local: append([]string{"internal/vector"}, familyMay...)},
}

// familyMay lists the packages that a package with a family of optimizers may import. Such a package states
// forecasts and makes charged queries.
var familyMay = []string{"account", "query", "optimize", "optimize/forecast"}

var randomness = []string{"math/rand", "math/rand/v2", "crypto/rand"}

// testLocal lists the packages that a package's tests may import, besides the package itself and those in
// the package's row of layers.
var testLocal = map[string][]string{
	"cmd/stillpoint":       {"optimize", "optimize/choose", "curator/simulate", "loss", "internal/recordedtest"},
	"internal/means":       {"account", "loss", "internal/recordedtest"},
	"internal/report":      {"loss", "internal/recordedtest"},
	"internal/table":       {"dataset"},
	"loss":                 {"internal/losscheck", "losstest"},
	"internal/testloss":    {"internal/losscheck", "losstest"},
	"losstest":             {"internal/testloss"},
	"stationarity":         {"internal/testloss"},
	"query":                {"internal/querytest"},
	"optimize":             {"optimizetest", "optimize/firstorder", "optimize/recursive"},
	"optimize/forecast":    {"optimizetest", "account", "loss", "optimize/firstorder", "optimize/choose"},
	"optimize/firstorder":  {"optimizetest", "optimize/choose", "convex"},
	"optimize/onepass":     {"optimizetest", "account", "loss", "convex"},
	"optimize/onestep":     {"optimizetest", "account", "loss"},
	"optimize/recursive":   {"optimizetest", "optimize/firstorder", "loss"},
	"optimize/kl":          {"optimizetest", "account"},
	"optimize/nonsmooth":   {"optimizetest", "loss", "convex"},
	"optimize/secondorder": {"optimizetest", "loss", "internal/testloss"},
	"optimize/choose":      {"optimizetest", "loss", "internal/recordedtest"},
	"optimizetest":         {"optimize/firstorder"},
	"internal/runrecord":   {"optimizetest"},
	"curator/simulate": {"curator/internal/engine/enginetest", "curator/simulate/recordtest", "internal/testloss", "optimize", "optimizetest",
		"optimize/firstorder"},
	"curator": {"curator/internal/engine/enginetest", "optimize", "optimize/choose", "internal/train"},
	"budget": {"budget/stores", "internal/budgetstore/budgettest", "certificate", "curator", "dataset", "loss",
		"query", "internal/recordedtest"},
	"internal/budgetstore/sqlite":   {"internal/budgetstore/budgettest", "account"},
	"internal/budgetstore/postgres": {"internal/budgetstore/budgettest"},
	"budget/stores":                 {"account"},
	"curator/internal/row":          {"curator/internal/row/rowtest"},
	"curator/internal/engine": {"account", "internal/effects", "internal/spline", "curator/internal/row/rowtest",
		"curator/internal/engine/enginetest", "internal/testloss"},
	"curator/internal/wire": {"account", "curator/internal/session",
		"curator/internal/row/rowtest", "curator/internal/engine/enginetest"},
	"curator/internal/session": {"account/mechanism", "internal/targetpair", "curator/internal/row",
		"curator/internal/engine/enginetest", "internal/querytest"},
	"":                 {"budget/stores", "internal/inference", "internal/report"},
	"internal/fitting": {"account"},
	"examples/service": {"account", "curator", "optimize", "optimize/choose", "internal/crashsafe"},
	"examples/loss":    {"losstest"},
	"export":           {"account"},
	"internal/runfolder": {"internal/durable/durabletest", "budget/stores", "internal/budgetstore/sqlite", "curator", "account/mechanism",
		"loss", "model", "query"},
	"internal/repotest": {"account/mechanism", "dataset", "internal/repotest/face", "internal/repotest/size",
		"internal/train"},
	"internal/durable":  {"internal/durable/durabletest"},
	"internal/train":    {"curator/simulate", "internal/train/trialtest", "optimizetest", "internal/recordedtest"},
	"internal/describe": {"internal/recordedtest"},
	"certificate":       {"internal/recordedtest"},
	"internal/inspect":  {"internal/recordedtest"},
	"account/mechanism": {"internal/recordedtest"},
}

var testOthers = []string{
	"pgregory.net/rapid", "github.com/google/go-cmp", "gonum.org/v1/gonum",
	"github.com/rogpeppe/go-internal", "golang.org/x/tools", "golang.org/x/sys", "github.com/goccy/go-yaml",
	"modernc.org/sqlite", "github.com/parquet-go/parquet-go", "google.golang.org/protobuf", "golang.org/x/crypto",
	"github.com/santhosh-tekuri/jsonschema/v6",
}

// pure lists the standard packages through which code cannot reach a file, the network, a process,
// a clock, randomness or another goroutine's stack.
var pure = []string{
	"bytes", "cmp", "container/heap", "context", "encoding/binary", "encoding/json", "errors", "fmt", "io", "iter",
	"maps", "math", "math/big", "math/bits", "math/cmplx", "slices", "sort", "strconv", "strings", "sync", "sync/atomic",
	"unicode", "unicode/utf8",
}

// confined lists packages, including those below them, that may import only pure packages and the ones
// listed. In these packages code by others runs: on rows (losses) or next to them (optimizers). Any code
// that can read its own goroutine's stack could read all stacks.
var confined = map[string][]string{
	"account": nil, "internal/inference": nil, "model/contrast": nil, "internal/runrecord": nil, "loss": nil, "internal/testloss": nil,
	"convex": nil, "query": nil,
	"internal/codec": nil, "internal/vector": nil, "internal/targetpair": nil, "internal/repromath": nil, "internal/simd": nil,
	"optimize": {"math/rand/v2"},
}

// assembly lists the packages with generated assembly, and its files. Each function in assembly has a
// portable twin in its package, and tests require that both return the same bits.
var assembly = map[string][]string{
	"curator/internal/engine": {"lanes_amd64.s"},
	"curator/internal/row":    {"unpack_amd64.s"},
	"internal/repromath":      {"exp_amd64.s"},
	"internal/simd":           {"vector_amd64.s"},
}

// inspecting lists standard packages, including those below them, that give access to other stacks or
// memory, or to the signals that print them. Only packages in inspectors may import them.
var inspecting = []string{"runtime", "os/signal", "syscall", "plugin", "unsafe", "reflect", "C", "golang.org/x/sys",
	"net/http/pprof", "expvar"}

// inspectors lists, for each package, the inspecting packages that it may import, and why.
var inspectors = map[string][]string{
	"internal/crashsafe":                 {"runtime/debug", "golang.org/x/sys"}, // turns tracebacks off
	"":                                   {"reflect"},                           // the fields of Spec
	"cmd/stillpoint":                     {"os/signal", "syscall", "runtime", "runtime/debug"},
	"curator":                            {"runtime"}, // number of processors
	"curator/simulate":                   {"runtime"},
	"curator/internal/engine":            {"golang.org/x/sys/cpu"}, // which instructions the processor has
	"curator/internal/row":               {"golang.org/x/sys/cpu"}, // which instructions the processor has
	"internal/repromath":                 {"golang.org/x/sys/cpu"}, // which instructions the processor has
	"internal/simd":                      {"golang.org/x/sys/cpu"}, // which instructions the processor has
	"curator/internal/engine/enginetest": {"runtime/debug"},        // how often tests collect garbage
	"internal/durable":                   {"runtime", "syscall"},
	"internal/durable/durabletest":       {"syscall"}, // error codes of a disk
	"internal/regularfile":               {"syscall"}, // a flag of open
	"internal/train":                     {"reflect"}, // the fields that are settings
	"internal/strictjson":                {"reflect"}, // the fields that are members of a file
	"internal/strictyaml":                {"reflect"}, // the fields that are decoded
}

// random lists packages, including those below them, that use the system's randomness or are seeded by it,
// for example for keys and signatures. Only curator/internal/coin draws random bits for noise. Generators
// with given seeds, which protect nobody, come from math/rand/v2, unless a package's row bars it. hashes
// lists the packages below crypto that draw nothing.
var random, hashes = []string{"crypto", "hash/maphash", "math/rand", "golang.org/x/crypto", "golang.org/x/exp/rand"},
	[]string{"crypto/sha256"}

// randomised is the only package that may import packages in random.
const randomised = "curator/internal/coin"

// signs lists the packages of random that the package of signatures may import. Keys and nonces of
// signatures are not random bits of a run, and only the command imports that package
// (docs/explanation/decisions/0043).
var signs = map[string][]string{"internal/sshsig": {"crypto/rand", "crypto/sha512", "golang.org/x/crypto/ssh"}}

// connecting is the package of encrypted connections. ciphers are the packages of random that it alone may
// import: TLS, and the keys by which both sides recognise each other. crypto/tls draws the random bits of a
// connection.
const connecting = "internal/mutualtls"

var ciphers = []string{"crypto/tls", "crypto/x509", "crypto/ed25519", "crypto/hmac"}

// source holds the imports of a package's files. Files for all systems and build tags count.
type source struct {
	imports, testImports []string
	foreign              []string // source files in other languages than Go
}

// laboratory is the folder of a module of its own, which measures this one and may import all of it.
const laboratory = "lab"

// sources returns the imports of each of the module's packages, by the package's folder. It reads
// the files itself, because the go command reruns a test only if files that the test has opened
// have changed.
func sources(t *testing.T) map[string]*source {
	t.Helper()
	all := map[string]*source{}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if name := e.Name(); path != "." && (path == laboratory || name == "testdata" || strings.HasPrefix(name, ".") ||
				strings.HasPrefix(name, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		name := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), ".")
		switch filepath.Ext(path) {
		case ".s", ".S", ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".m", ".f", ".F", ".swig", ".swigcxx", ".syso":
			p := at(all, name)
			p.foreign = append(p.foreign, path)
		case ".go":
			imports, err := imported(path)
			if err != nil {
				return err
			}
			if p := at(all, name); strings.HasSuffix(path, "_test.go") {
				p.testImports = append(p.testImports, imports...)
			} else {
				p.imports = append(p.imports, imports...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func at(all map[string]*source, name string) *source {
	if all[name] == nil {
		all[name] = new(source)
	}
	return all[name]
}

// imported returns the paths that a file imports.
func imported(path string) (paths []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, i := range file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		paths = append(paths, p)
	}
	return paths, nil
}

func TestLayers(t *testing.T) {
	t.Chdir(root)
	all := sources(t)
	for name, p := range all {
		for _, complaint := range judge(name, p) {
			t.Error(complaint)
		}
	}
	for name := range layers {
		if all[name] == nil {
			t.Errorf("the table lists %q, which is no package", name)
		}
	}
}

// TestGrantsAreUsed: every import that a table of this file grants must be made by a file of the package,
// by a test file if the table is testLocal or testOthers. Files for all systems and build tags count.
func TestGrantsAreUsed(t *testing.T) {
	t.Chdir(root)
	all := sources(t)
	var tests []string
	for name, p := range all {
		tests = append(tests, p.testImports...)
		for _, complaint := range idle(name, p) {
			t.Error(complaint)
		}
	}
	for _, grant := range testOthers {
		if !imports(tests, grant) {
			t.Errorf("testOthers: no test imports %s", grant)
		}
	}
	for _, table := range []map[string][]string{testLocal, inspectors, signs, assembly} {
		for name := range table {
			if all[name] == nil {
				t.Errorf("a table lists %q, which is no package", name)
			}
		}
	}
}

// TestIdleGrantsAreFound: idle must complain of each grant of the packages named, if no file imports
// anything, if only tests import it, and if tests import what the package's own row grants.
func TestIdleGrantsAreFound(t *testing.T) {
	for _, name := range []string{"account", "curator", "internal/train", "internal/crashsafe", "internal/sshsig",
		"curator/internal/row"} {
		granted := slices.Concat(layers[name].local, testLocal[name], layers[name].others, inspectors[name], signs[name])
		if found := idle(name, new(source)); len(found) != len(granted) || len(found) == 0 {
			t.Errorf("%s: %d of %d idle grants are found: %q", name, len(found), len(granted), found)
		}
	}
	byTests := &source{testImports: []string{module + "/account/mechanism", module + "/internal/durable"}}
	for _, name := range []string{"account", "certificate"} {
		if found := idle(name, byTests); len(found) < len(layers[name].local) {
			t.Errorf("%s: a grant that only tests use counts as used: %q", name, found)
		}
	}
}

// idle returns a complaint for each import that the tables of this file grant to a package and that no file
// of the package makes. A grant of testLocal counts only if a test makes the import and the package's row of
// layers does not grant it already.
func idle(name string, p *source) (complaints []string) {
	row := layers[name]
	for _, grant := range row.local {
		if !slices.Contains(p.imports, path(grant)) {
			complaints = append(complaints, fmt.Sprintf("%s imports no %s: its row grants it", name, grant))
		}
	}
	for _, grant := range testLocal[name] {
		if !slices.Contains(p.testImports, path(grant)) || slices.Contains(row.local, grant) {
			complaints = append(complaints, fmt.Sprintf("%s's tests need no grant of %s", name, grant))
		}
	}
	for _, grant := range slices.Concat(row.others, inspectors[name], signs[name], confined[name]) {
		if !imports(p.imports, grant) {
			complaints = append(complaints, fmt.Sprintf("%s imports no %s: a table grants it", name, grant))
		}
	}
	return complaints
}

// path returns the import path of a package of the module.
func path(name string) string { return strings.TrimSuffix(module+"/"+name, "/") }

// imports reports whether a package, or a package below it, is among the paths of imports.
func imports(paths []string, name string) bool {
	return slices.ContainsFunc(paths, func(p string) bool { return below(p, []string{name}) })
}

// judge returns a complaint for each import or file of a package that the tables of this file
// forbid.
func judge(name string, p *source) (complaints []string) {
	row, known := layers[name]
	if !known {
		return []string{fmt.Sprintf("package %q is not in the table", name)}
	}
	for _, f := range p.foreign {
		if slices.Contains(assembly[name], filepath.Base(f)) {
			continue
		}
		complaints = append(complaints, fmt.Sprintf("%s holds %s: not Go", name, f))
	}
	for _, i := range p.imports {
		switch {
		case !allowed(i, row.local, row.others):
			complaints = append(complaints, fmt.Sprintf("%s imports %s: not in its row", name, i))
		case slices.Contains(row.barred, i), i != "math/rand/v2" &&
			below(i, row.barred): // math/rand/v2 is not below math/rand
			complaints = append(complaints, fmt.Sprintf("%s imports %s: barred", name, i))
		case below(i, inspecting) && !slices.Contains(inspectors[name], i) &&
			!(strings.Contains(i, ".") && below(i, inspectors[name])):
			complaints = append(complaints, fmt.Sprintf("%s imports %s: shows what is not its own", name, i))
		case name == connecting && slices.Contains(ciphers, i):
		case name != randomised && i != "math/rand/v2" && below(i, random) && !slices.Contains(hashes, i) &&
			!slices.Contains(signs[name], i):
			complaints = append(complaints, fmt.Sprintf("%s imports %s: draws coins", name, i))
		case standard(i) && !confinedMay(name, i):
			complaints = append(complaints, fmt.Sprintf("%s imports %s: reaches beyond what it is given", name, i))
		}
	}
	local := append(append([]string{name}, row.local...), testLocal[name]...)
	others := append(append([]string(nil), row.others...), testOthers...)
	for _, i := range p.testImports {
		if !allowed(i, local, others) {
			complaints = append(complaints, fmt.Sprintf("%s's tests import %s: not in their row", name, i))
		}
	}
	return complaints
}

// confinedMay reports whether a package may import a standard package: a confined package may import only
// pure packages and its own list.
func confinedMay(name, path string) bool {
	for c, more := range confined {
		if below(name, []string{c}) && !slices.Contains(pure, path) && !slices.Contains(more, path) {
			return false
		}
	}
	return true
}

// below reports whether a path is in the list or below an element of the list.
func below(path string, these []string) bool {
	return slices.ContainsFunc(these, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

// standard reports whether an import is of the standard library, or C.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// allowed reports whether an import is a standard package, in local (packages of the module), or below an
// element of others (third-party modules).
func allowed(path string, local, others []string) bool {
	if rest, ok := strings.CutPrefix(path, module); ok {
		return slices.Contains(local, strings.TrimPrefix(rest, "/"))
	}
	return standard(path) || below(path, others)
}

// TestLayersRefuse tests that judge refuses forbidden imports in packages whose code runs on rows
// or next to them.
func TestLayersRefuse(t *testing.T) {
	for _, name := range []string{"optimize", "loss", "convex", "query", "account", "account/mechanism"} {
		for _, path := range []string{
			"runtime", "runtime/debug", "runtime/pprof", "runtime/trace", "runtime/metrics", "os/signal", "syscall", "plugin",
			"unsafe", "reflect", "C",
			"os", "os/exec", "os/user", "net", "net/http", "net/http/pprof", "crypto/rand", "math/rand", "log", "log/slog",
			"testing", "io/ioutil",
			"internal/abi", "time", "expvar", "syscall/js", "golang.org/x/sys/unix", "github.com/any/other", "embed", "flag",
			"path/filepath",
			module + "/curator", module + "/curator/simulate", module + "/dataset",
			module + "/internal/crashsafe", module + "/internal/train",
			module + "x",
		} {
			if judge(name, &source{imports: []string{path}}) == nil {
				t.Errorf("%s may import %s", name, path)
			}
		}
	}
	for name := range layers {
		for _, path := range []string{"plugin", "unsafe", "C", "runtime/pprof", "net/http/pprof", "github.com/any/other"} {
			if judge(name, &source{imports: []string{path}}) == nil {
				t.Errorf("%s may import %s", name, path)
			}
		}
		if judge(name, &source{foreign: []string{"x.s"}}) == nil ||
			judge(name, &source{foreign: []string{"x_amd64.s"}}) == nil {
			t.Errorf("%s may hold assembly", name)
		}
	}
	// Every package but the one of random bits must be refused if it draws random bits.
	for name := range layers {
		for _, path := range []string{
			"crypto/rand", "crypto/mlkem", "crypto/ecdh", "crypto/ed25519", "crypto/rsa", "crypto/tls",
			"crypto/internal/sysrand",
			"hash/maphash", "math/rand", "golang.org/x/crypto/nacl/box", "golang.org/x/exp/rand",
		} {
			if name != randomised && !slices.Contains(signs[name], path) &&
				(name != connecting || !slices.Contains(ciphers, path)) && judge(name, &source{imports: []string{path}}) == nil {
				t.Errorf("%s may import %s", name, path)
			}
		}
	}
	for name := range layers { // a package that signs reaches no records, and a package that reaches records does not sign
		if name != "cmd/stillpoint" && judge(name, &source{imports: []string{module + "/internal/sshsig"}}) == nil {
			t.Errorf("%s may import internal/sshsig", name)
		}
	}
	if judge("optimize/new", new(source)) == nil {
		t.Error("a package may be left out of the table")
	}
}

// TestSimulationStaysOut: only tests and the laboratory may import simulated sessions.
func TestSimulationStaysOut(t *testing.T) {
	t.Chdir(root)
	for name, p := range sources(t) {
		if name != "curator/simulate/recordtest" && slices.Contains(p.imports, module+"/curator/simulate") {
			t.Errorf("%s imports curator/simulate", name)
		}
	}
}

// openers are the packages that may open a ledger for stated records: the package that holds the records,
// and the test suite of the stores of budgets. Any other package that did this would make a ledger for
// records that do not exist.
var openers = []string{"curator/internal/session", "internal/budgetstore/budgettest"}

// TestOnlySessionsOpenLedgers: ledgers from which certificates are made, and by which stores of budgets are
// charged, must come from sessions. Package account itself may replay recorded ledgers, for certificates
// only.
func TestOnlySessionsOpenLedgers(t *testing.T) {
	t.Chdir(root)
	may := map[string][]string{"OpenLedger": openers, "Replay": {"certificate"}}
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, name := range selected(file, module+"/account") {
			folder := filepath.ToSlash(filepath.Dir(path))
			if who, kept := may[name]; kept && !slices.Contains(who, folder) {
				t.Errorf("%s calls account.%s: only %v may", path, name, who)
			} else if kept {
				seen[name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != len(may) {
		t.Errorf("found calls of %v alone: must be of all of %v", seen, may)
	}
}

// selected lists the names that a file uses of a package, which it imports under the package's own name.
func selected(file *ast.File, path string) (names []string) {
	for _, i := range file.Imports {
		if i.Path.Value != strconv.Quote(path) {
			continue
		}
		local := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			local = i.Name.Name
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == local {
					names = append(names, s.Sel.Name)
				}
			}
			return true
		})
	}
	return names
}
