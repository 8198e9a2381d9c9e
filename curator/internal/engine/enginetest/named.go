package enginetest

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/loss"
)

// NameOf returns the name by which Named returns one of the test losses. A test sends the name to
// engines in other processes, since loss.Parse knows the names of few of these losses.
func NameOf(t testing.TB, l loss.Loss) string {
	t.Helper()
	for name, known := range losses(t) {
		if sameLoss(l, known) {
			return name
		}
	}
	t.Fatalf("loss %s is none of the cases", l.Name())
	return ""
}

// Named returns the test loss that has the given name, which NameOf returned.
func Named(t testing.TB, name string) loss.Loss {
	t.Helper()
	l := losses(t)[name]
	if l == nil {
		t.Fatalf("loss %q is none of the cases", name)
	}
	return l
}

// sameLoss reports whether two test losses are the same. They are the same if they have equal names
// and fail in the same way.
func sameLoss(a, b loss.Loss) bool {
	failing := func(l loss.Loss) string {
		switch l := l.(type) {
		case panics, stops:
			return "panics"
		case skips, leaves:
			return "skips"
		case several:
			if l.panics {
				return "panics"
			}
		}
		return ""
	}
	return a.Name() == b.Name() && failing(a) == failing(b)
}
