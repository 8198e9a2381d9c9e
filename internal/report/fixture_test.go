package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// folder describes the files of a fit's folder for tests. Parts that are zero get defaults when the
// method write writes the files.
type folder struct {
	name      string // prefix of the names of columns, categories, classes and the target
	schema    dataset.Definition
	algorithm certificate.Algorithm
	loss      string
	weights   func(j int) float64
	events    []account.Event
	schedule  *account.Schedule
	budget    account.Budget
	complete  bool
	noModel   bool
	software  string
	ledger    string
	unit      account.Unit
	trusted   []string
	dims      int            // weights of the model; 0 for one of each feature
	intervals *inference.Fit // of the model; nil for none
}

func budget(t testing.TB, r account.Relation) account.Budget {
	t.Helper()
	b, err := account.NewBudget(1, 1e-6, r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// gradients returns n equal gradient releases that together spend slightly less than the budget b.
func gradients(t testing.TB, n int, b account.Budget) []account.Event {
	t.Helper()
	list := make([]account.Event, n)
	for i := range list {
		e, err := account.GaussianEvent("gradient", account.Everyone, 2, 2*math.Sqrt(float64(n)/b.Charge())*1.0001)
		if err != nil {
			t.Fatal(err)
		}
		e.Index, e.Relation = i, b.Relation()
		list[i] = e
	}
	return list
}

// gdPlan returns the plan of gradient descent with the given number of steps, as a certificate states it.
func gdPlan(steps int) certificate.Algorithm {
	noise := strings.TrimSuffix(strings.Repeat("0.01,", steps), ",")
	return certificate.Algorithm{Name: "gd", Plan: json.RawMessage(fmt.Sprintf(
		`{"algorithm":"gd","citation":"noisy gradient descent","steps":%d,"step_size":4,"clip":1,"charges":"every step alike","output":"last","effective_size":700,"floor":0.003,"predicted_gradient_norm":0.004,"law":{"noise":[%s],"step_sizes":[4],"weight_noise":%v}}`, steps, noise, .04*math.Sqrt(float64(steps))))}
}

// visible returns a name without the characters that a schema forbids in the name of a class.
func visible(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, name)
}

// people returns a folder with columns of four kinds, a row filter, and a gradient descent with the given
// number of steps. name is the prefix of every column, category and class.
func people(t testing.TB, name string, steps int) folder {
	t.Helper()
	b := budget(t, account.ReplaceOne)
	return folder{
		name: name, budget: b, events: gradients(t, steps, b), algorithm: gdPlan(steps), complete: true,
		schema: dataset.Definition{
			Columns: []dataset.Column{
				{Name: name + "1", Kind: dataset.Number, Low: 10, High: 90},
				{Name: name + "2", Kind: dataset.Number, Low: 0, High: 1e6, Transform: dataset.Log1p},
				{Name: name + "3", Kind: dataset.Category, Categories: []string{name + "a", name + "b"}},
				{Name: name + "4", Kind: dataset.Public, Values: []string{name + "e"}},
			},
			Target: dataset.Target{Column: name + "5", Kind: dataset.Category,
				Classes: []string{visible(name) + "c", visible(name) + "d"}},
			Where: name + "4=" + name + "e",
		},
	}
}

// filter returns the schema's row filter.
func (f folder) filter(t testing.TB) dataset.Filter {
	t.Helper()
	s, err := dataset.New(f.schema)
	if err != nil {
		t.Fatal(err)
	}
	return s.Filter()
}

// write writes the folder's files to a new folder and returns its path.
func (f folder) write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if f.software == "" {
		f.software = "stillpoint v1.0.0"
	}
	digest := ""
	if !f.noModel {
		text := f.model(t)
		sum := sha256.Sum256(text)
		digest = hex.EncodeToString(sum[:])
		writeTo(t, filepath.Join(dir, runrecord.ModelFile), text)
	}
	c, err := certificate.FromJournal(account.Journal{
		Budget: f.budget, Records: account.Records{Count: 10000, Filter: account.Filter(f.filter(t)), Unit: f.unit}, Events: f.events,
		Schedule: f.schedule,
	}, certificate.Params{
		Software: f.software, Algorithm: f.algorithm, Complete: f.complete, ModelSHA256: digest, Trusted: f.trusted,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(filepath.Join(dir, runrecord.CertificateFile)); err != nil {
		t.Fatal(err)
	}
	if f.ledger != "" {
		writeTo(t, filepath.Join(dir, runrecord.LedgerFile), []byte(f.ledger))
	}
	return dir
}

func (f folder) model(t testing.TB) []byte {
	t.Helper()
	schema, err := dataset.New(f.schema)
	if err != nil {
		t.Fatal(err)
	}
	if f.loss == "" {
		f.loss = "logistic"
	}
	weights := make([]float64, cmp.Or(f.dims, schema.Dim()))
	for j := range weights {
		weights[j] = float64(j%7) - 3
		if f.weights != nil {
			weights[j] = f.weights(j)
		}
	}
	// json.Marshal sorts the members of a map. Any order is valid.
	members := map[string]any{
		"format": "stillpoint model", "version": 1 + min(f.dims, 1), "software": f.software, "complete": f.complete, "loss": f.loss,
		"regularizer": "none",
		"privacy": map[string]any{"epsilon": 1, "delta": 1e-6, "relation": f.budget.Relation().String(),
			"neighbour":   account.Filter(schema.Filter()).Neighbour(f.budget.Relation()),
			"certificate": runrecord.CertificateFile},
		"schema": schema, "features": schema.Features(), "weights": weights,
	}
	if f.intervals != nil {
		members["inference"] = f.intervals
	}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeTo(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// entries returns the ledger's lines for one completed fit of each of these tables: a reservation
// and a settlement.
func entries(b account.Budget, data ...string) string {
	var s strings.Builder
	for i, d := range data {
		name, _ := json.Marshal(d)
		for _, entry := range []string{"reserved", "settled"} {
			charged := ""
			if entry == "settled" {
				charged = fmt.Sprintf(`,"charged":%v`, b.Charge())
			}
			fmt.Fprintf(&s,
				`{"time":"2031-02-0%dT03:04:05Z","entry":%q,"fit":%d,"data":%s,"algorithm":"gd","relation":%q,"epsilon":%v,"delta":%v,"mu":%v%s}`+"\n",
				i+1, entry, i+1, name, b.Relation(), b.Epsilon(), b.Delta(), b.Mu(), charged)
		}
	}
	return s.String()
}

// fitPage reads a folder and renders its page. It fails the test unless the page is harmless
// (inert), and returns the page's text and elements.
func fitPage(t testing.TB, dir string) (text string, nodes []node) {
	t.Helper()
	f, err := ReadFit(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	page, err := f.Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	nodes = inert(t, render(t, page))
	return nodes[0].text, nodes
}
