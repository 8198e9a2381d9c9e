package enginetest

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
)

// Rounds fails a test by name where an engine is about to round a number that cannot be
// rounded, instead of the process.
func Rounds(t testing.TB) {
	was := engine.Unrounded
	engine.Unrounded = func(p float64) { t.Errorf("%v steps were to be rounded", p) }
	t.Cleanup(func() { engine.Unrounded = was })
}

// Main runs a package's tests, and ends the process where an engine is about to round a
// number that cannot be rounded. A panic in the engine's own goroutine would be taken for
// one of the loss, which makes a record faulty and nothing else: it happens in another.
// Benchmarks do without the check, which looks at every product.
func Main(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		engine.Unrounded = func(p float64) {
			go func() { panic(fmt.Sprintf("engine: %v steps were to be rounded", p)) }()
			select {}
		}
	}
	os.Exit(m.Run())
}
