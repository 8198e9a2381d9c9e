package parquet

import "testing"

// TestRowsOfBatches tests the number of rows of a batch for files of any number of columns: never less than fewRows, so
// that readers come on, and never more than batchRows.
func TestRowsOfBatches(t *testing.T) {
	for columns, want := range map[int]int{0: 1024, 1: 1024, 64: 1024, 65: 1008, 128: 512, 512: 128, 513: 128, 785: 128,
		1 << 16: 128, 1 << 17: 128, 1 << 30: 128} {
		if got := rowsOfBatch(columns); got != want {
			t.Errorf("%d columns: %d rows, want %d", columns, got, want)
		}
	}
}
