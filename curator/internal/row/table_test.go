package row_test

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
)

func table(t testing.TB, dim, blockRows int, records []rowtest.Record) row.Source {
	t.Helper()
	s, err := row.NewTable(dim, blockRows)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		s.Append(r.X, r.Y, r.OK)
	}
	return s
}

func TestTable(t *testing.T) { rowtest.Run(t, table) }

func TestSizesAreChecked(t *testing.T) {
	for _, c := range []struct{ dim, block int }{{0, 0}, {-1, 0}, {1<<24 + 1, 0}, {1, -1}} {
		if _, err := row.NewTable(c.dim, c.block); err == nil {
			t.Errorf("a table of %d features in blocks of %d rows", c.dim, c.block)
		}
		if _, err := row.NewFile(c.dim, c.block, 0, ""); err == nil {
			t.Errorf("a file of %d features in blocks of %d rows", c.dim, c.block)
		}
	}
}

// What the suites try engines with passes the suite itself.
func TestGaps(t *testing.T) { rowtest.Run(t, rowtest.Gaps(table)) }
