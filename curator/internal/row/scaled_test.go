package row_test

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
)

// TestScaled: rows stored at half their size and doubled must be the rows, over every source, in blocks and by their
// numbers. A row that was stored longer than half is faulty, as a row longer than 1 is: no query may read it.
func TestScaled(t *testing.T) {
	halved := func(of rowtest.Make) rowtest.Make {
		return func(t testing.TB, l *row.Layout, blockRows int, records []rowtest.Record) row.Source {
			var list []rowtest.Record
			for _, r := range records {
				x := make([]float32, len(r.X))
				for j, v := range r.X {
					x[j] = v / 2
				}
				r.X, r.Level = x, r.Level/2
				list = append(list, r)
			}
			return row.NewScaled(of(t, l, blockRows, list), 2)
		}
	}
	for name, of := range map[string]rowtest.Make{"memory": rowtest.Table, "file": file(0, t.TempDir()),
		"gaps": rowtest.Gaps(rowtest.Table)} {
		t.Run(name, func(t *testing.T) { rowtest.Run(t, halved(of)) })
	}
}
