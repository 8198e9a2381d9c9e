package engine_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine"
	"github.com/stillpoint-dp/stillpoint/curator/internal/engine/enginetest"
)

// TestMain begins the output of benchmarks with the kernel that ran, in a line that benchstat understands.
func TestMain(m *testing.M) {
	if flag.Parse(); flag.Lookup("test.bench").Value.String() != "" {
		fmt.Println("kernel:", engine.FastestKernel)
	}
	enginetest.Main(m)
}

// TestBenchmarksNameTheKernel tests that the output of benchmarks has the name of the kernel, and that of tests has none:
// tests also run slower kernels, so that their times say nothing.
func TestBenchmarksNameTheKernel(t *testing.T) {
	for bench, want := range map[string]bool{"^$": true, "": false} {
		out, err := exec.Command(os.Args[0], "-test.run=^$", "-test.bench="+bench).CombinedOutput()
		if got := strings.HasPrefix(string(out), "kernel: "+engine.FastestKernel+"\n"); err != nil || got != want {
			t.Errorf("-bench %q: %v, %q", bench, err, out)
		}
	}
}
