package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/budget"
)

// TestOneFolderByManyPaths tests that a folder which several paths lead to is one folder, and that its first path is
// shown. Folders of equal names in different places are several.
func TestOneFolderByManyPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	up := filepath.Join("..", filepath.Base(here))
	for _, c := range []struct{ paths, want string }{
		{"", ""},
		{"out", "out"},
		{"out out", "out"},
		{"out ./out", "out"},
		{"./out out", "./out"},
		{"out out/", "out"},
		{"out " + filepath.Join(here, "out"), "out"},
		{filepath.Join(here, "out") + " out ", filepath.Join(here, "out")},
		{"out " + filepath.Join(up, "out"), "out"},
		{"out other/../out", "out"},
		{"out other/out out", "out other/out"},
		{"out out-copy ./out-copy other", "out out-copy other"},
		{"b a b/ ./a", "b a"},
	} {
		if got := strings.Join(distinct(strings.Fields(c.paths)), " "); got != c.want {
			t.Errorf("%s: %q: must be %q", c.paths, got, c.want)
		}
	}
}

// TestOpenRunsAreFoundOnce tests which folders are listed for runs that have not ended: --in with several paths of a
// folder finds its run once, and a copy elsewhere is a second folder. Runs that have ended are not listed.
func TestOpenRunsAreFoundOnce(t *testing.T) {
	const killed = "b9aaeb7a6b03deb61f0e0ad20ed233b0"
	kept, err := filepath.Abs("../../internal/runfolder/testdata/before-leases")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, to := range []string{"fits", "copy/fits"} {
		if err := os.CopyFS(to, os.DirFS(kept)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("fits", "link"); err != nil {
		t.Skip(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	d := &budget.Dataset{Runs: make([]budget.RunState, 3)}
	for i, run := range []string{killed, "unknown", killed} {
		d.Runs[i].Run, d.Runs[i].Row = run, i+3
	}
	d.Runs[2].Settled = true
	one, two := filepath.Join("fits", "killed"), filepath.Join("copy", "fits", "killed")
	for _, c := range []struct {
		in             []string
		folder, copies string
	}{
		{nil, "", ""},
		{[]string{"fits"}, one, ""},
		{[]string{"fits", one}, one, ""},
		{[]string{"fits", filepath.Join(here, "fits")}, one, ""},
		{[]string{filepath.Join(here, one), "fits"}, filepath.Join(here, one), ""},
		{[]string{"copy", "fits"}, "", two + " " + one},
		{[]string{"."}, "", two + " " + one},
		{[]string{"link"}, filepath.Join("link", "killed"), ""},
		{[]string{"link/"}, filepath.Join("link", "killed"), ""},
		{[]string{"fits", "link"}, one, ""},
	} {
		all, err := (&budgetShow{In: c.in}).open(t.Context(), d)
		if err != nil || len(all) != 2 {
			t.Fatalf("%q: %+v, %v", c.in, all, err)
		}
		if r := all[0]; r.Run != killed || r.Row != 3 || r.Folder != c.folder || strings.Join(r.Copies, " ") != c.copies {
			t.Errorf("%q: %+v: must be folder %q, copies %q", c.in, r, c.folder, c.copies)
		}
		if r := all[1]; r.Run != "unknown" || r.Row != 4 || r.Folder != "" || r.Copies != nil {
			t.Errorf("%q: %+v: must have no folder", c.in, r)
		}
	}
	if _, err := (&budgetShow{In: []string{"absent"}}).open(t.Context(), d); !os.IsNotExist(err) {
		t.Errorf("a folder that does not exist: %v", err)
	}
}
