package session

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
)

// TestRefineKeepsRecordsAndLoss tests that an engine takes the place of another one only over as many records and with
// the same loss: cohorts list records by number, and the curvature that questions are checked by is the loss's.
func TestRefineKeepsRecordsAndLoss(t *testing.T) {
	r := rand.New(rand.NewPCG(49, 1))
	const d = 3
	logistic := parse(t, "logistic")
	s := open(t, randomRecords(r, 20, d), logistic, budget(t, 1, 1e-6, account.ReplaceOne), nil)
	defer s.Close()
	before := s.engine()
	for name, c := range map[string]struct {
		records, dim int
		loss         string
		refused      bool
	}{
		"fewer records": {19, d, "logistic", true},
		"another loss":  {20, d, "huber(0.3)", true},
		"more features": {20, d + 4, "logistic", false},
	} {
		next := engineOver(t, tableOf(t, randomRecords(r, c.records, c.dim), 0), parse(t, c.loss))
		err := s.Refine(func(e engine.Engine) (engine.Engine, error) {
			if e != before {
				t.Errorf("%s: not the present engine", name)
			}
			return next, nil
		})
		switch refused := err != nil && strings.Contains(err.Error(), "must keep the records and the loss"); {
		case refused != c.refused || err != nil && !refused:
			t.Errorf("%s: %v: refused must be %v", name, err, c.refused)
		case refused && (s.engine() != before || s.Dim() != d):
			t.Errorf("%s: the engine is another", name)
		case !refused && (s.engine() != next || s.Dim() != c.dim):
			t.Errorf("%s: the engine is as before", name)
		}
		if !c.refused {
			before = next
			if err := s.Refine(func(engine.Engine) (engine.Engine, error) {
				before = engineOver(t, tableOf(t, randomRecords(r, 20, d), 0), logistic)
				return before, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
