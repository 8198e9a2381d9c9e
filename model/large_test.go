package model

import (
	"runtime"
	"strings"
	"testing"
)

// A file takes memory, and so time, in proportion to its size, however its keys
// and its nesting are chosen.
func TestParseIsLinear(t *testing.T) {
	long := strings.Repeat("k", 100_000)
	for name, text := range map[string]string{
		"a long key over a list": `{"` + long + `": [` + strings.Repeat("1,", 2000) + `1]}`,
		"a long key over a tree": `{"` + long + `": ` + strings.Repeat(`{"k":`, 2000) + "1" + strings.Repeat("}", 2001),
		"deep lists":             strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"a list in deep lists":   strings.Repeat("[", 5000) + strings.Repeat("1,", 5000) + "1" + strings.Repeat("]", 5000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse([]byte(text))
		runtime.ReadMemStats(&after)
		if err == nil || len(err.Error()) > 1000 {
			t.Errorf("%s: error %.300v", name, err)
		}
		// Each value's path and the decoder's own work: far below what paths
		// of the length of a key or of the depth would take.
		if used := after.TotalAlloc - before.TotalAlloc; used > 800*uint64(len(text)) {
			t.Errorf("%s: %d bytes for %d: must be at most 800 for each", name, used, len(text))
		} else {
			t.Logf("%s: %d bytes for each", name, used/uint64(len(text)))
		}
	}
}
