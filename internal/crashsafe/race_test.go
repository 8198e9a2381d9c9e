//go:build race

package crashsafe

// raceDetector reports whether the race detector is in this binary.
const raceDetector = true
