package runfolder

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestJournalOfAnotherFitIsRefused: belongs returns an error if the head of a journal differs
// from the reservation in the fit's number, relation, epsilon, delta or schedule.
func TestJournalOfAnotherFitIsRefused(t *testing.T) {
	steps := []account.SampledSteps{{NoiseMultiplier: 2, Sampling: .1, Count: 5}}
	entry := Entry{Fit: 3, Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6},
		Schedule: steps}
	same := train.Header{Fit: 3, Guarantee: account.Guarantee{Relation: account.ReplaceOne, Epsilon: 1, Delta: 1e-6},
		Schedule: steps}
	if err := (&journalContent{head: &same}).belongs(entry); err != nil {
		t.Errorf("its own: %v", err)
	}
	for name, change := range map[string]func(*train.Header){
		"fit":               func(h *train.Header) { h.Fit = 2 },
		"relation":          func(h *train.Header) { h.Relation = account.AddOrRemove },
		"epsilon":           func(h *train.Header) { h.Epsilon = 2 },
		"delta":             func(h *train.Header) { h.Delta = 1e-5 },
		"no schedule":       func(h *train.Header) { h.Schedule = nil },
		"a longer schedule": func(h *train.Header) { h.Schedule = append(steps[:1:1], steps...) },
		"another multiplier": func(h *train.Header) {
			h.Schedule = []account.SampledSteps{{NoiseMultiplier: 1, Sampling: .1, Count: 5}}
		},
		"another probability": func(h *train.Header) {
			h.Schedule = []account.SampledSteps{{NoiseMultiplier: 2, Sampling: .2, Count: 5}}
		},
		"another count": func(h *train.Header) {
			h.Schedule = []account.SampledSteps{{NoiseMultiplier: 2, Sampling: .1, Count: 4}}
		},
	} {
		h := same
		change(&h)
		if (&journalContent{head: &h}).belongs(entry) == nil {
			t.Errorf("%s: taken for its own", name)
		}
	}
}
