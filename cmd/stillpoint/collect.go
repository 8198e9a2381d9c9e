package main

import (
	"math"
	"runtime/debug"

	"github.com/stillpoint-dp/stillpoint/train"
)

// heapShare is how many hundredths of the stated memory the heap may take before garbage
// is collected more often: what is read and thrown away would else double it.
const heapShare = 110

// heapBase is what the heap may take beside, in bytes, whatever is stated.
const heapBase = 8 << 20

// collect has the garbage collector keep to the memory that a configuration states, unless
// the environment (GOMEMLIMIT) asks for less.
func collect(m train.Memory) {
	if limit := heapLimit(m); limit < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(limit)
	}
}

// heapLimit is the heap's limit in bytes; none where no memory is stated.
func heapLimit(m train.Memory) int64 {
	if m.Gigabytes <= 0 {
		return math.MaxInt64
	}
	// Memory of 2^62 bytes and more is no limit.
	limit := m.Gigabytes*1e9*heapShare/100 + heapBase
	if limit >= 1<<62 {
		return math.MaxInt64
	}
	return int64(limit)
}
