package enginetest

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
)

// Rounds makes a test fail if an engine is about to round a number beyond the limit of
// engine.Round. Without Rounds, Main ends the process in that case.
func Rounds(t testing.TB) {
	was := engine.Unrounded
	engine.Unrounded = func(p float64) { t.Errorf("%v steps were to be rounded", p) }
	t.Cleanup(func() { engine.Unrounded = was })
}

// Main runs a package's tests. If an engine is about to round a number beyond the limit of
// engine.Round, Main ends the process by a panic in another goroutine. A panic in the engine's own
// goroutine would count as a panic of the loss, which only makes a record faulty. Benchmarks run
// without this check, since it examines every product. Main makes garbage collection rarer, whatever
// GOGC says, because tests allocate much and keep little: up to a gigabyte it waits for much garbage.
func Main(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(1600)
	debug.SetMemoryLimit(1 << 30)
	if flag.Lookup("test.bench").Value.String() == "" {
		engine.Unrounded = func(p float64) {
			go func() { panic(fmt.Sprintf("engine: %v steps were to be rounded", p)) }()
			select {}
		}
	}
	os.Exit(m.Run())
}
