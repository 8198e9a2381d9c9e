package enginetest

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
)

// Rounds makes a test fail, instead of ending the process, if an engine is about to round a number
// beyond the limit of engine.Round.
func Rounds(t testing.TB) {
	was := engine.Unrounded
	engine.Unrounded = func(p float64) { t.Errorf("%v steps were to be rounded", p) }
	t.Cleanup(func() { engine.Unrounded = was })
}

// Main runs a package's tests. It ends the process if an engine is about to round a number beyond
// the limit of engine.Round. It panics in another goroutine: a panic in the engine's own goroutine
// would count as a panic of the loss, which only makes a record faulty. Benchmarks run without this
// check, which examines every product.
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
