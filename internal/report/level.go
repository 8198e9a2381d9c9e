package report

import (
	"encoding/json"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/model"
)

// Every, as a number of intervals, is all coefficients of the formula but the intercept.
const Every = -1

// AtLevel returns the model with intervals of another level, for which the released covariance is enough; nil is that
// of the fit. If together is not 0, as many intervals hold at once with this level: by Bonferroni's inequality each of k
// intervals gets the level 1 - (1 - level)/k.
func AtLevel(m *model.Model, asked *float64, together int) (*model.Model, error) {
	if asked == nil && together == 0 {
		return m, nil
	}
	if _, err := m.Coefficients(); err != nil {
		return nil, err
	}
	f, err := inference.Parse(m.Inference())
	if err != nil {
		return nil, err
	}
	level := f.Level
	if asked != nil {
		level = *asked
	}
	if err := inference.CheckLevel(level); err != nil {
		return nil, err
	}
	if f.Method == inference.Region && (level != f.Level || together != 0) {
		return nil, fmt.Errorf("level = %v: must be that of the fit, %v, since the intervals are projections of a Fieller region",
			level, f.Level)
	}
	if f.Level = level; together != 0 {
		k, of := together, "intervals"
		if together == Every {
			k, of = max(len(f.Columns)-1, 1), "coefficients"
		}
		f.Level = 1 - (1-level)/float64(k)
		if inference.CheckLevel(f.Level) != nil {
			return nil, fmt.Errorf("level = %v: %v %s together need %.5g each: must be at most 0.999", level, k, of, f.Level)
		}
	}
	file, err := m.Bytes()
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(file, &members); err != nil {
		return nil, err
	}
	if members["inference"], err = f.JSON(); err != nil {
		return nil, err
	}
	if file, err = json.Marshal(members); err != nil {
		return nil, err
	}
	return model.Parse(file)
}
