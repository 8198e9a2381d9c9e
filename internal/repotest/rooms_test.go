package repotest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRoomsAreApart: CONTRIBUTING.md's table of folders must list each top-level folder with Go code once, and
// apart from internal and curator those packages below them that a fit does not need.
// The folders in the row of a fit must be those that the root package reaches by its imports, tests apart.
// The row of commands must have all other folders that the commands reach. No folder outside the row of tests may
// import a folder of that row.
func TestRoomsAreApart(t *testing.T) {
	t.Chdir(root)
	rows := rooms(t)
	all := sources(t)
	var listed []string
	for _, row := range rows {
		listed = append(listed, row...)
	}
	folders := func(packages []string) []string { return foldersOf(packages, listed) }
	if want := folders(slices.Collect(maps.Keys(all))); !slices.Equal(slices.Sorted(slices.Values(listed)), want) {
		t.Errorf("the table lists %q: must list %q", slices.Sorted(slices.Values(listed)), want)
	}
	if got := folders(reached(all, "")); !slices.Equal(got, rows[0]) {
		t.Errorf("the root package reaches %q: the table says %q", got, rows[0])
	}
	for _, from := range slices.Concat(rows[0], rows[1]) {
		for name := range all {
			if !slices.Equal(folders([]string{name}), []string{from}) || strings.HasSuffix(name, "test") {
				continue
			}
			for _, to := range folders(reached(all, name)) {
				if slices.Contains(rows[2], to) {
					t.Errorf("%s reaches %s, which is for tests", name, to)
				}
			}
		}
	}
}

// rooms returns the folders in each row of CONTRIBUTING.md's table of folders, sorted.
func rooms(t *testing.T) (rows [][]string) {
	t.Helper()
	_, table, _ := strings.Cut(read(t, "CONTRIBUTING.md"), "\n| folders | needed by |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range strings.Split(table, "\n") {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		var row []string
		for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(cell, -1) {
			row = append(row, m[1])
		}
		rows = append(rows, slices.Sorted(slices.Values(row)))
	}
	if len(rows) != 3 {
		t.Fatalf("the table of folders has changed shape: %d rows", len(rows))
	}
	return rows
}

// reached returns the packages of the module that a package imports, directly or through others. Tests do
// not count.
func reached(all map[string]*source, name string) []string {
	seen := map[string]bool{name: true}
	list := []string{name}
	for i := 0; i < len(list); i++ {
		for _, path := range all[list[i]].imports {
			rest, ok := strings.CutPrefix(path, module)
			if next := strings.TrimPrefix(rest, "/"); ok && all[next] != nil && !seen[next] {
				seen[next] = true
				list = append(list, next)
			}
		}
	}
	return list
}

// foldersOf returns the top-level folders of packages, sorted, without the module's root. A package below
// another folder counts as a folder of its own if it is listed.
func foldersOf(packages, listed []string) []string {
	set := map[string]bool{}
	for _, name := range packages {
		parts := strings.SplitN(name, "/", 3)
		if len(parts) > 1 && slices.Contains(listed, parts[0]+"/"+parts[1]) {
			set[parts[0]+"/"+parts[1]] = true
		} else if parts[0] != "" {
			set[parts[0]] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}
