package runfolder

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestReduce: a fit on shortened rows has one weight for each shortened feature. It writes a
// model with a coefficient for every feature, by the public map, and a certificate that names
// the map. Two maps are refused: one to as many features as the rows have, and one with a
// network as the loss.
func TestReduce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/people.csv", people(3000))
	yaml := strings.Replace(peopleYAML, "{loss: logistic}", "{loss: logistic, reduce: jl(3)}",
		1) + "train: {algorithm: gd, steps: 4, compare: off}\n"
	c, err := train.ReadConfig(write(t, dir+"/people.yaml", yaml))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "fit")
	f, err := fit(t.Context(), c, options{Out: out, Software: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if f.Dim != 3 || f.Features != 3 || len(f.Result.W) != 3 {
		t.Errorf("%d weights of %d features, %d reached: must be 3", f.Dim, f.Features, len(f.Result.W))
	}
	m, err := model.Read(f.ModelPath)
	if err != nil {
		t.Fatal(err)
	}
	if text := read(t, f.CertificatePath); !strings.Contains(text, `"reduce": "jl(3)"`) {
		t.Errorf("the certificate does not say how rows were shortened: %s", text)
	}
	p, err := dataset.ParseProjection("jl(3,1)", c.Schema.Dim())
	if err != nil {
		t.Fatal(err)
	}
	for j, w := range p.Lift(f.Result.W) {
		if !(math.Abs(m.Weights()[j]-w) <= 1e-15*math.Abs(w)) || w == 0 {
			t.Errorf("coefficient %d is %v, of the run's weights %v", j, m.Weights()[j], w)
		}
	}
	for text, want := range map[string]string{
		"{loss: logistic, reduce: jl(5)}":                                   "model.reduce: dataset: projection",
		"{loss: {network: {hidden: [2], output: logistic}}, reduce: jl(3)}": "model.reduce: loss network(2,tanh,logistic): must be of a generalised linear model",
	} {
		c, err := train.ReadConfig(write(t, dir+"/other.yaml", strings.Replace(peopleYAML, "{loss: logistic}", text, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fit(t.Context(), c, options{Out: filepath.Join(dir, "other")}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
