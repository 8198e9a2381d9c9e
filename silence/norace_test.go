//go:build !race

package silence

// raceDetector tells whether the race detector is in this binary.
const raceDetector = false
