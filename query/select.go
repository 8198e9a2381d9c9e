package query

import "fmt"

// Selection asks which of several candidates has the lowest score over a cohort. A score is the mean of a clipped value
// ([ValueAt]) or the norm of the mean of clipped gradients ([NormAt]). The answer is an index, drawn by the exponential
// mechanism. A Selection is immutable. The zero Selection is invalid.
type Selection struct {
	questions []Question
	epsilon   float64
}

// maxCandidates bounds the number of candidates, each of which takes a pass over the records.
const maxCandidates = 1 << 16

// NewSelection returns a selection among 2 to 65536 candidates. Each candidate is one term. All terms must be values
// ([ValueAt]), or all must be norms ([NormAt]). They must have the same cohort, clip norm, centre and number of
// coordinates, and weight 1. epsilon must be in [2^-40, 16]. The answer is epsilon-DP. Its charge is the result of
// mechanism.SelectionMu, which is smaller than the charge of an arbitrary epsilon-DP answer.
func NewSelection(epsilon float64, candidates ...Term) (Selection, error) {
	if !(epsilon >= 0x1p-40 && epsilon <= 16) {
		return Selection{}, fmt.Errorf("query: selection: epsilon = %v: must be between 2^-40 and 16", epsilon)
	}
	if len(candidates) < 2 || len(candidates) > maxCandidates {
		return Selection{}, fmt.Errorf("query: selection: %d candidates: must be between 2 and %d", len(candidates),
			maxCandidates)
	}
	s := Selection{epsilon: epsilon, questions: make([]Question, len(candidates))}
	first := candidates[0]
	for i, t := range candidates {
		q, err := New(1, t)
		if err != nil {
			return Selection{}, err
		}
		switch {
		case !t.kind.May(Candidate) || t.kind != first.kind:
			return Selection{}, fmt.Errorf("query: selection: candidate %d is a %v: must all be %s", i, t.kind,
				plurals(Candidate))
		case t.cohort != first.cohort:
			return Selection{}, fmt.Errorf("query: selection: candidate %d: cohort %d: must be that of the first, %d", i,
				t.cohort.id, first.cohort.id)
		case t.weight != 1:
			return Selection{}, fmt.Errorf("query: selection: candidate %d: weight = %v: must be 1", i, t.weight)
		case t.ball != first.ball:
			return Selection{}, fmt.Errorf("query: selection: candidate %d: clip %v: must be that of the first, %v", i, t.ball,
				first.ball)
		case len(t.w) != len(first.w):
			return Selection{}, fmt.Errorf("query: selection: candidate %d: point has %d coordinates: must have as "+
				"many as the first, %d", i, len(t.w), len(first.w))
		}
		s.questions[i] = q
	}
	return s, nil
}

// Questions returns each candidate's score as a query. The charges of these queries have no meaning:
// only the selection as a whole is charged.
func (s Selection) Questions() []Question { return append([]Question(nil), s.questions...) }

// Epsilon returns the epsilon of the selection.
func (s Selection) Epsilon() float64 { return s.epsilon }

// Name returns the selection's name, e.g. "selection by value".
func (s Selection) Name() string {
	if len(s.questions) == 0 {
		return "selection"
	}
	return "selection by " + s.questions[0].Name()
}
