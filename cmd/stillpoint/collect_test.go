package main

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestHeapKeepsToTheStatedMemory tests the limit of the garbage collector's heap: it must be the
// memory that the configuration states plus a tenth and 8 MiB. Without a stated memory there must
// be no limit.
func TestHeapKeepsToTheStatedMemory(t *testing.T) {
	for gigabytes, want := range map[float64]int64{
		0: math.MaxInt64, 1: 1_100_000_000 + 8<<20, .1: 110_000_000 + 8<<20, 9e9: math.MaxInt64,
	} {
		if got := heapLimit(train.Memory{Gigabytes: train.Positive(gigabytes)}); !(math.Abs(float64(got-want)) <= 1) {
			t.Errorf("%v gigabytes: a limit of %d bytes, want %d", gigabytes, got, want)
		}
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	path := filepath.Join(t.TempDir(), "c.yaml")
	const config = `data: t.csv
schema: {columns: {x: {number: [0, 1]}}, target: {column: y, number: [0, 1]}}
model: {loss: huber(0.1)}
privacy: {epsilon: 1, delta: 1e-6, relation: replace-one}
memory: {gigabytes: 1}
`
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (configFlags{Config: path}).read(); err != nil {
		t.Fatal(err)
	}
	if got, want := debug.SetMemoryLimit(-1), heapLimit(train.Memory{Gigabytes: 1}); got != want {
		t.Errorf("a fit has a limit of %d bytes, want %d", got, want)
	}
}
