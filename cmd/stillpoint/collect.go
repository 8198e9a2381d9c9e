package main

import (
	"math"
	"runtime/debug"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// heapShare is the heap's limit without heapBase, as a percentage of the configured memory. Near the limit
// the garbage collector runs more often. Without a limit, garbage from reading the table could double the
// heap.
const heapShare = 110

// heapBase is a number of bytes that is added to the heap's limit.
const heapBase = 8 << 20

// collect sets the garbage collector's memory limit to heapLimit(m), unless the environment (GOMEMLIMIT) sets
// a lower limit.
func collect(m train.Memory) {
	if limit := heapLimit(m); limit < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(limit)
	}
}

// heapLimit returns the heap's limit in bytes. Without configured memory there is no limit.
func heapLimit(m train.Memory) int64 {
	if m.Gigabytes <= 0 {
		return math.MaxInt64
	}
	// A limit of 2^62 bytes or more counts as no limit, which also avoids an overflow of int64.
	limit := m.Gigabytes*1e9*heapShare/100 + heapBase
	if limit >= 1<<62 {
		return math.MaxInt64
	}
	return int64(limit)
}
