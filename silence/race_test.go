//go:build race

package silence

// raceDetector reports whether the race detector is in this binary.
const raceDetector = true
