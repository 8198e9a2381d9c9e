package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestSmallBuildIsSmall: the build for a first try (-tags small) must compile no driver of a database, no network and no
// signatures, which take half of the time of a build from an empty cache; the whole build must have all of them.
func TestSmallBuildIsSmall(t *testing.T) {
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skip(err)
	}
	deps := func(tags string) []string {
		out, err := exec.Command(path, "list", "-deps", "-tags", tags, ".").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	whole, small := deps(""), deps("small")
	for _, p := range []string{"database/sql", "modernc.org/sqlite", "github.com/jackc/pgx/v5", "net", "net/http", "crypto/tls",
		"golang.org/x/crypto/ssh", "github.com/andybalholm/brotli"} {
		if !slices.Contains(whole, p) {
			t.Errorf("the whole build does without %s: drop it from this test", p)
		}
		if slices.Contains(small, p) {
			t.Errorf("the small build compiles %s", p)
		}
	}
	if most := 3 * len(whole) / 4; len(small) > most {
		t.Errorf("the small build compiles %d packages, the whole build %d: must be at most %d", len(small), len(whole), most)
	}
}
