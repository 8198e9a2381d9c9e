package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// registryFile lists each shown fact with its oracle, the test that computes it by another way: a line for each, of
// the fact's key, the folder of the test's package and the test.
const registryFile = "lab/draw/shown.tsv"

// none stands for the test of a fact that has no oracle yet.
const none = "-"

// oracle is a test that fails if a fact is wrong.
type oracle struct{ folder, test string }

// registry has the oracle of each fact, by the fact's key.
type registry map[string]oracle

// limited begins the first line of the registry, which says how many facts may have no oracle.
const limited = "# Facts without an oracle, at most: "

func readRegistry(path string) (r registry, most int, err error) {
	text, err := os.ReadFile(path)
	r = registry{}
	if errors.Is(err, fs.ErrNotExist) {
		return r, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if number, ok := strings.CutPrefix(line, limited); ok {
			if most, err = strconv.Atoi(number); err != nil {
				return nil, 0, fmt.Errorf("%s: %q: must end in a number", path, line)
			}
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 3 {
			return nil, 0, fmt.Errorf("%s: %q: must have three fields", path, line)
		}
		r[f[0]] = oracle{f[1], f[2]}
	}
	return r, most, nil
}

// bare returns the number of facts that have no oracle.
func (r registry) bare() (count int) {
	for _, o := range r {
		if o.test == none {
			count++
		}
	}
	return count
}

func (r registry) write(path string) error {
	var lines []string
	for key, o := range r {
		lines = append(lines, strings.Join([]string{key, o.folder, o.test}, "\t")+"\n")
	}
	slices.Sort(lines)
	return os.WriteFile(path, []byte(fmt.Sprintf("%s%d\n", limited, r.bare())+strings.Join(lines, "")), 0o666)
}

// fit makes the lines of the registry those of the facts. A fact that moved to another file keeps its oracle. A fact
// without a line gets one without an oracle.
func (r registry) fit(facts []fact) {
	place := func(key string) string {
		_, rest, _ := strings.Cut(key, " ")
		return rest
	}
	current, moved := map[string]bool{}, map[string][]string{}
	for _, f := range facts {
		current[f.key] = true
	}
	for key := range r {
		if !current[key] {
			moved[place(key)] = append(moved[place(key)], key)
		}
	}
	for _, f := range facts {
		if _, ok := r[f.key]; ok {
			continue
		}
		r[f.key] = oracle{f.folder, none}
		if was := moved[place(f.key)]; len(was) == 1 {
			r[f.key] = r[was[0]]
		}
	}
	for key := range r {
		if !current[key] {
			delete(r, key)
		}
	}
}

// unit is a test, or a subtest of a test that takes long, with what it shows.
type unit struct {
	folder, test string
	takes        time.Duration
	shows        map[int]bool
}

var subtest = regexp.MustCompile(`(?m)^=== RUN +([\w]+/[^/\s]+)$`)

// units runs each test of a package alone, and returns which facts it shows. Tests that take more than some seconds
// and have subtests are taken apart.
func (w *switched) units(folder string) (list []unit, err error) {
	names, err := w.tests(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if w.only != nil && !w.only.MatchString(name) {
			continue
		}
		u, out, err := w.unit(folder, name)
		if err != nil {
			return nil, err
		}
		parts := subtest.FindAllStringSubmatch(out, -1)
		if u.takes < 4*time.Second || len(parts) == 0 || len(u.shows) == 0 {
			list = append(list, u)
			continue
		}
		for _, m := range parts {
			u, _, err := w.unit(folder, m[1])
			if err != nil {
				return nil, err
			}
			list = append(list, u)
		}
	}
	slices.SortStableFunc(list, func(a, b unit) int { return int(a.takes - b.takes) })
	return list, nil
}

// tests returns the names of the tests of a package.
func (w *switched) tests(folder string) ([]string, error) {
	path, err := w.binary(folder)
	if err != nil || path == "" {
		return nil, err
	}
	c := exec.Command(path, "-test.list", "^(Test|Example)")
	c.Dir = folder
	names, err := c.Output()
	return strings.Fields(string(names)), err
}

func (w *switched) unit(folder, test string) (unit, string, error) {
	if err := w.turn("trace"); err != nil {
		return unit{}, "", err
	}
	start := time.Now()
	passed, out, err := w.run(folder, only(test))
	u := unit{folder: folder, test: test, takes: time.Since(start), shows: map[int]bool{}}
	if passed {
		for _, i := range w.traced() {
			u.shows[i] = true
		}
	} else {
		fmt.Printf("%s %s fails without a defect, or takes too long\n", folder, test)
	}
	return u, out, err
}

// only returns the pattern that selects one test or subtest.
func only(test string) string {
	var parts []string
	for _, p := range strings.Split(test, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(p)+"$")
	}
	return strings.Join(parts, "/")
}

// fails says whether a test fails if the fact with this number is wrong.
func (w *switched) fails(fact int, o oracle) (bool, error) {
	if err := w.turn(fmt.Sprint(fact)); err != nil {
		return false, err
	}
	passed, _, err := w.run(o.folder, only(o.test))
	return !passed, err
}

// patience is the time of the tests among which the oracle of a fact is looked for in a package, the quickest first.
var patience = 3 * time.Second

// search returns the first of some tests that fails if a fact is wrong, or nil. The tests run in one process.
func (w *switched) search(fact int, units []unit) (*oracle, error) {
	var whole, parts []string
	folder, spent := "", time.Duration(0)
	for _, u := range units {
		if !u.shows[fact] || spent+u.takes > patience {
			continue
		}
		folder, spent = u.folder, spent+u.takes
		if strings.Contains(u.test, "/") {
			parts = append(parts, only(u.test))
		} else {
			whole = append(whole, only(u.test))
		}
	}
	if len(whole) > 0 { // a pattern with a slash may select other tests' parts
		parts = append([]string{strings.Join(whole, "|")}, parts...)
	}
	for _, pattern := range parts {
		if err := w.turn(fmt.Sprint(fact)); err != nil {
			return nil, err
		}
		passed, out, err := w.run(folder, pattern)
		if err != nil {
			return nil, err
		}
		if !passed {
			return &oracle{folder, testOf(out, pattern)}, nil
		}
	}
	return nil, nil
}

var failing = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// testOf returns the test that failed first; if the program crashed, the last that began.
func testOf(out, pattern string) string {
	if m := failing.FindStringSubmatch(out); m != nil {
		name := m[1]
		if strings.Contains(pattern, "/") {
			for _, m := range failing.FindAllStringSubmatch(out, -1) {
				if strings.Count(m[1], "/") == 1 {
					return m[1]
				}
			}
		}
		return name
	}
	begun := regexp.MustCompile(`(?m)^=== RUN +(\w+)$`).FindAllStringSubmatch(out, -1)
	if len(begun) == 0 {
		return "?"
	}
	return begun[len(begun)-1][1]
}

// enrol looks for the oracle of each fact that has none: a test of its package or, if wide, of the packages that import
// it, that fails if the fact is wrong. It writes those that it finds, and returns the facts without an oracle.
func (s *source) enrol(w *switched, facts []fact, r registry, tried func(file string) bool, wide bool) (bare []fact,
	err error) {
	open := map[string][]int{} // facts without an oracle, by their folder
	for i, f := range facts {
		if o, ok := r[f.key]; (!ok || o.test == none) && tried(f.file) {
			open[f.folder] = append(open[f.folder], i)
		}
	}
	known := map[string][]unit{}
	for _, home := range sortedKeys(open) {
		places := []string{home}
		if wide {
			places = s.readers(home)
		}
		for _, place := range places {
			if _, ok := known[place]; !ok {
				if known[place], err = w.units(place); err != nil {
					return nil, err
				}
			}
			for _, i := range open[home] {
				if o, ok := r[facts[i].key]; ok && o.test != none {
					continue
				}
				found, err := w.search(i, known[place])
				if err != nil {
					return nil, err
				}
				if found != nil {
					r[facts[i].key] = *found
				}
			}
			if err := r.write(registryFile); err != nil {
				return nil, err
			}
		}
		for _, i := range open[home] {
			if o, ok := r[facts[i].key]; !ok || o.test == none {
				bare = append(bare, facts[i])
			}
		}
	}
	return bare, nil
}

// readers are the packages that import a package and show what it says.
func (s *source) readers(home string) (list []string) {
	for _, p := range s.importer[home] {
		if slices.Contains(shownIn, p) {
			list = append(list, p)
		}
	}
	return list
}

// turns is the number of times that an oracle is run, at most, before it is said not to notice. An oracle whose cases
// are random may miss a fact by chance; it then needs cases that reach the fact each time.
const turns = 5

// verified is the outcome of a verification.
type verified struct {
	run    int
	late   []fact // noticed, but not in the first turn
	missed []fact // not noticed
}

// verify makes facts wrong, in a random order, until the time is up, and runs their oracles.
func (w *switched) verify(facts []fact, r registry, until time.Time, seed uint64) (v verified, err error) {
	for _, i := range rand.New(rand.NewPCG(seed, 0)).Perm(len(facts)) {
		o, ok := r[facts[i].key]
		if !ok || o.test == none || w.only != nil && !w.only.MatchString(o.test) {
			continue
		}
		if time.Now().After(until) {
			break
		}
		v.run++
		noticed, turn := false, 0
		for ; turn < turns && !noticed; turn++ {
			if noticed, err = w.fails(i, o); err != nil {
				return v, err
			}
		}
		if !noticed {
			v.missed = append(v.missed, facts[i])
		} else if turn > 1 {
			v.late = append(v.late, facts[i])
		}
	}
	return v, w.turn("")
}

func sortedKeys[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
