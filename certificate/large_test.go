package certificate

import (
	"runtime"
	"strings"
	"testing"
)

// TestParseIsLinear: Parse takes memory, and therefore time, in proportion to the size of a
// file, for files with very long keys and very deep nesting too.
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
		// The limit covers the paths of the values and the work of package json. Paths as long
		// as the keys, or one path for each level of nesting, would take far more.
		if used := after.TotalAlloc - before.TotalAlloc; used > 800*uint64(len(text)) {
			t.Errorf("%s: %d bytes for %d: must be at most 800 for each", name, used, len(text))
		} else {
			t.Logf("%s: %d bytes for each", name, used/uint64(len(text)))
		}
	}
}
