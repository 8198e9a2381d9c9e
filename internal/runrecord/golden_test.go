package runrecord_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
)

// TestRecordsAreWrittenAsTheyWere: the plans in certificates of earlier revisions, read and written again,
// must have the same bytes and every member. The certificates are the test data of cmd/stillpoint.
func TestRecordsAreWrittenAsTheyWere(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "cmd", "stillpoint", "testdata", "golden", "*", "certificate.json"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var kept struct {
			Algorithm struct{ Plan json.RawMessage }
		}
		if err := json.Unmarshal(text, &kept); err != nil {
			t.Fatal(err)
		}
		var run runrecord.Run
		d := json.NewDecoder(bytes.NewReader(kept.Algorithm.Plan))
		d.DisallowUnknownFields()
		if err := d.Decode(&run); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		var want, got bytes.Buffer
		if err := json.Compact(&want, kept.Algorithm.Plan); err != nil {
			t.Fatal(err)
		}
		e := json.NewEncoder(&got)
		e.SetEscapeHTML(false)
		if err := e.Encode(run); err != nil {
			t.Fatal(err)
		}
		if again := bytes.TrimSpace(got.Bytes()); !bytes.Equal(again, want.Bytes()) {
			t.Errorf("%s: read and written again it is\n%s\nmust be\n%s", path, again, want.Bytes())
		}
	}
}
