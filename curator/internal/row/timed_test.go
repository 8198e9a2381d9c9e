package row_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// TestTimed: rows with times to an event must be the stored rows with the targets of the baseline hazard, over every
// source, in blocks and by their numbers. The stored times stay as they are: two readers with other hazards are used in
// turn.
func TestTimed(t *testing.T) {
	times := targetpair.Times{Cuts: []float64{10, 40, 100}, Increments: []float64{.5, 0, 1.5}}
	stored := map[float64]float64{} // by the target that the hazard makes of them
	var carried []float64
	for i, at := range []float64{.03, .11, .2, .45, .7, .95, 1} {
		joined := targetpair.JoinTimes(at/3, at, i%2 == 0)
		y := times.Carried(joined)
		stored[y] = joined
		carried = append(carried, y)
	}
	if len(stored) != len(carried) {
		t.Fatalf("%v: must be different targets", carried)
	}
	l := rowtest.Dense(5)
	records := func(n int) []rowtest.Record {
		list := rowtest.Records(n, l, 7, false)
		for i := range list {
			list[i].Y = carried[i%len(carried)]
		}
		return list
	}
	for name, source := range map[string]rowtest.Make{"memory": rowtest.Table, "file": file(0, t.TempDir()),
		"gaps": rowtest.Gaps(rowtest.Table)} {
		t.Run(name, func(t *testing.T) {
			rowtest.RunOf(t, l, records, func(t testing.TB, l *row.Layout, blockRows int, records []rowtest.Record) row.Source {
				list := slices.Clone(records)
				for i := range list {
					if y, ok := stored[list[i].Y]; ok {
						list[i].Y = y
					}
				}
				of := source(t, l, blockRows, list)
				other := row.NewTimed(of, targetpair.Times{Cuts: times.Cuts}).Reader()
				for i := range of.Blocks() {
					b, err := other.Block(i)
					if err != nil {
						t.Fatal(err)
					}
					for _, y := range b.Targets {
						if _, share := targetpair.Split(y, false); !math.IsNaN(y) && !(share > 0 && share <= 1) {
							t.Errorf("%v is no target of a constant hazard", y)
						}
					}
				}
				return row.NewTimed(of, times)
			})
		})
	}
}
