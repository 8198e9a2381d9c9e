package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"math/rand/v2"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
)

// class is a kind of place. Rates are stated for each class.
type class struct {
	name string
	// within are the folders, with those below them, or files of the class.
	within []string
}

// classes are the kinds of places from which defects are drawn. The first has the shown facts and all code that
// writes them.
var classes = []class{
	{"shown number", []string{"internal/report", "internal/fitting", "cmd/stillpoint", "export", "internal/inspect",
		"model/contrast.go", "model/inference.go", "model/metrics.go", "internal/train/outlook.go",
		"internal/train/estimate.go", "internal/train/warnings.go", "internal/runrecord"}},
	{"statistic", []string{"internal/inference", "internal/effects", "internal/spline", "internal/train", "optimize",
		"stationarity", "convex", "account/mechanism", "loss"}},
	{"fault of a store", []string{"budget", "internal/budgetstore", "internal/durable", "internal/ledgerfile",
		"internal/runfolder", "internal/holder"}},
	{"state", []string{"curator", "query", "dataset", "model", "internal/memo", "certificate"}},
	{"security setting", []string{"internal/sshsig", "internal/mutualtls", "internal/safetext", "internal/crashsafe",
		"internal/regularfile", "internal/strictyaml", "internal/columnname", "internal/cellstatus", "curator/internal/coin",
		"curator/internal/wire", "cmd/stillpoint/process.go", "cmd/stillpoint/process_unix.go"}},
	{"binding", []string{"python/src/stillpoint", "r/R"}},
}

// has says whether a file is one of the class. A file that a later class names more exactly is of that class.
func (k class) has(file string) bool {
	if strings.HasSuffix(path.Dir(file), "test") { // a package for tests
		return false
	}
	longest, owner := -1, ""
	for _, other := range classes {
		for _, w := range other.within {
			if (file == w || strings.HasPrefix(file, w+"/")) && len(w) > longest {
				longest, owner = len(w), other.name
			}
		}
	}
	return owner == k.name
}

// pool is the sites of a class, by their kinds of defect.
type pool map[string][]site

// pools lists the sites of all classes. Facts are sites of the first class.
func (s *source) pools() (map[string]pool, error) {
	all := map[string]pool{}
	put := func(d site) {
		for _, k := range classes {
			if k.has(d.file) {
				if all[k.name] == nil {
					all[k.name] = pool{}
				}
				all[k.name][d.kind] = append(all[k.name][d.kind], d)
			}
		}
	}
	s.visit(func(c scope, n ast.Node, around []ast.Node) {
		if c.inError(around) {
			return
		}
		for _, d := range append(c.defects(n, around), c.formats(n)...) {
			put(d)
		}
	})
	for _, f := range s.facts() {
		put(f.site)
	}
	bindings, err := s.bindings()
	if err != nil {
		return nil, err
	}
	for _, d := range bindings {
		put(d)
	}
	return all, nil
}

// draw returns n defects, as many of each class. Half of them is in lines that were changed lately, if the class
// has such lines. First a kind of defect is drawn, then one of its sites, so that frequent kinds do not drown others.
func draw(all map[string]pool, lately func(d site) bool, n int, seed uint64) (list []drawn) {
	r := rand.New(rand.NewPCG(seed, 1))
	taken := map[string]bool{}
	var named []class
	for _, k := range classes {
		if len(all[k.name]) > 0 {
			named = append(named, k)
		}
	}
	for i := 0; len(list) < n && i < 50*n; i++ {
		k := named[i%len(named)]
		from := all[k.name]
		if (i/len(named))%2 == 0 {
			recent := pool{}
			for kind, sites := range from {
				if sites = slices.DeleteFunc(slices.Clone(sites), func(d site) bool { return !lately(d) }); len(sites) > 0 {
					recent[kind] = sites
				}
			}
			if len(recent) > 0 {
				from = recent
			}
		}
		kinds := sortedKeys(from)
		if len(kinds) == 0 {
			continue
		}
		sites := from[kinds[r.IntN(len(kinds))]]
		d := sites[r.IntN(len(sites))]
		id := fmt.Sprint(d.file, d.edits)
		if !taken[id] {
			taken[id] = true
			list = append(list, drawn{d, k.name, lately(d)})
		}
	}
	return list
}

// drawn is a defect of the draw.
type drawn struct {
	site
	class  string
	recent bool
}

var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// recent returns a function that says whether a site is in a line that the last commits changed, by git.
func (s *source) recent(commits int) (func(d site) bool, error) {
	c := exec.Command("git", "diff", "-M", "-U0", fmt.Sprintf("HEAD~%d", commits), "HEAD", "--", "*.go", "*.py", "*.R")
	c.Dir = s.root
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("git diff: %w", err)
	}
	changed := map[string]map[int]bool{}
	var file string
	for scan := bufio.NewScanner(bytes.NewReader(out)); scan.Scan(); {
		line := scan.Text()
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			file = name
			changed[file] = map[int]bool{}
		} else if m := hunk.FindStringSubmatch(line); m != nil {
			first, count := 0, 1
			fmt.Sscan(m[1], &first)
			if m[2] != "" {
				fmt.Sscan(m[2], &count)
			}
			for i := range count {
				changed[file][first+i] = true
			}
		}
	}
	return func(d site) bool { return changed[d.file][d.line] }, nil
}
