package curator

import (
	"errors"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// TestFailedRefinements tests that a refinement whose engine cannot be made returns the error, that another one may follow, and
// that no engine is made for a schema by which rows are stored in another way.
func TestFailedRefinements(t *testing.T) {
	curved := func(knots int) *dataset.Schema {
		t.Helper()
		s, err := dataset.New(dataset.Definition{
			Columns: []dataset.Column{{Name: "age", Kind: dataset.Number, High: 90, Curve: knots}},
			Target:  dataset.Target{Column: "y", Kind: dataset.Category, Classes: []string{"no", "yes"}}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	fails := errors.New("no engine")
	var asked []Config
	refine := refiner(Config{Schema: curved(3), Loss: loss.Logistic()}, func(c Config, _ engine.Engine) (engine.Engine, error) {
		if asked = append(asked, c); len(asked) == 1 {
			return nil, fails
		}
		return nil, nil
	})
	if _, err := refine(nil, curved(5)); !errors.Is(err, fails) {
		t.Errorf("error %v: must be that of the engine", err)
	}
	if _, err := refine(nil, curved(4)); err != nil {
		t.Errorf("after a failure: %v", err)
	}
	if _, err := refine(nil, curved(0)); err == nil {
		t.Error("a line refines a curve")
	}
	if len(asked) != 2 || asked[0].Schema.Dim() != curved(5).Dim() || asked[1].Schema.Dim() != curved(4).Dim() {
		t.Errorf("%d engines", len(asked))
	}
}
