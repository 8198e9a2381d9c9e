package audit

import (
	"context"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestSimplerFamiliesAreReplayed tests runs whose family becomes simpler at the released base rate, as the generated
// table is small: from curves and from effects to lines, whose rows have another divisor. The run's control flow must
// follow from releases alone, and each query must be charged for what one record moves it.
func TestSimplerFamiliesAreReplayed(t *testing.T) {
	for records, family := range map[int]string{3000: train.Curves, 400_000: train.Interactions} {
		c := configuration(t, "records: 400", "records: 60", "train: {algorithm: gd, steps: 6}\n", "",
			", regularizer: l2(0.01), radius: 5", "")
		c, err := c.For(records)
		if err != nil {
			t.Fatal(err)
		}
		if family == train.Interactions {
			c.Model.Features = "effects(3,8)"
		}
		planned, err := c.Plan(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		s, err := configured(c, planned)
		if err != nil {
			t.Fatal(err)
		}
		lines, run := 0, s.Run
		s.Run = func(ctx context.Context, o Oracle, observe func(train.Step)) (any, error) {
			result, err := run(ctx, o, observe)
			for _, k := range o.(*witness).trace.calls {
				if k.method == "Refine" {
					lines++
				}
			}
			return result, err
		}
		r, err := Run(context.Background(), s, Effort{Climbs: -1, Records: 6, Positions: 1})
		if err != nil || r.Ended != "" || len(r.Violations) > 0 || planned.Family.Name != family || lines == 0 {
			t.Errorf("%s: %v, %q, %d schemas, %v", planned.Family.Name, err, r.Ended, lines, r.Violations)
		}
	}
}
