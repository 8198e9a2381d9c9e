package rowtest

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
)

// Table makes a source in memory.
func Table(t testing.TB, l *row.Layout, blockRows int, records []Record) row.Source {
	t.Helper()
	s, err := row.NewTableOf(l, blockRows)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		s.AppendCoded(r.X, r.Level, r.In, r.Y, r.OK)
	}
	return s
}
