package repotest

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests in the root of the repository, so that they name files as documents do.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, "repotest:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
