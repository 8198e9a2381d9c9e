package report

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/model"
)

// AtLevel returns the model with intervals of another level, for which the released covariance is enough; level 0 is that
// of the fit. If together is true, all coefficients of the formula have intervals that hold at once with this level: by
// Bonferroni's inequality each of k coefficients gets the level 1 - (1 - level)/k.
func AtLevel(m *model.Model, level float64, together bool) (*model.Model, error) {
	if level == 0 && !together {
		return m, nil
	}
	if _, err := m.Coefficients(); err != nil {
		return nil, err
	}
	f, err := inference.Parse(m.Inference())
	if err != nil {
		return nil, err
	}
	level = cmp.Or(level, f.Level)
	if err := inference.CheckLevel(level); err != nil {
		return nil, err
	}
	if f.Method == inference.Region && (level != f.Level || together) {
		return nil, fmt.Errorf("level = %v: must be that of the fit, %v, since the intervals are projections of a Fieller region",
			level, f.Level)
	}
	if f.Level = level; together {
		k := float64(max(len(f.Columns)-1, 1)) // without the intercept
		f.Level = 1 - (1-level)/k
		if inference.CheckLevel(f.Level) != nil {
			return nil, fmt.Errorf("level = %v: %v coefficients together need %.5g each: must be at most 0.999", level, k, f.Level)
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
