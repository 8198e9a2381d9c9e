package train

import (
	"math"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestNoAlgorithmPlansWhatIsNoProblem tests that each algorithm refuses a problem of which one part is out of its range,
// with the error about this part.
func TestNoAlgorithmPlansWhatIsNoProblem(t *testing.T) {
	for _, a := range algorithms {
		if samples(a.name) { // schedules take long to calibrate
			continue
		}
		for want, breaks := range map[string]func(*optimize.Problem){
			"mu = -":        func(p *optimize.Problem) { p.Mu = -1 },
			"records = NaN": func(p *optimize.Problem) { p.Records = math.NaN() },
			"Lipschitz constant = 0": func(p *optimize.Problem) {
				p.Constants.Lipschitz = 0
			},
		} {
			p := settingProblem(t, a.name)
			breaks(&p)
			plan, _, err := Train{Algorithm: a.name}.Plan(t.Context(), p)
			if err == nil || plan != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: %v, %v", a.name, want, plan, err)
			}
		}
	}
}
