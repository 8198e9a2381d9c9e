// Draw judges the tests by defects that nobody wrote for them. It has two parts.
//
//	go run ./lab/draw [-n N] [-seed S] [-class NAME] [-minutes M] [-python]
//
// draws N defects of the source, as many of each kind of place: shown numbers, statistics, faults of stores, state,
// security settings, and bindings for Python and R. Half of them lies in lines that the last 50 commits changed.
// The defects are put into the source together by an overlay, each behind a switch, and for each the tests that reach
// its function are run with -short until one fails: those of its own package, and then, for the time of -others, those of
// all packages that import it, the quickest first. With -scratch, what a test reaches is kept for the next draw, and
// only new tests are tried for it. The program prints each defect with the test that caught it, or that none did, and the rate of each class. With
// -keep it adds them to lab/draw/drawn.tsv. A defect in Python or R is judged where these can be had, with -python. With
// -in PATH all defects are of files whose path begins so, such as to try the tests of one file, and with -own only the
// tests of their own package are run.
//
//	go run ./lab/draw -enrol [-wide] [-below PATH] [-tests REGEXP]
//	go run ./lab/draw -list
//	go run ./lab/draw -verify [-minutes M] [-seed S] [-tests REGEXP]
//
// are about shown facts: numbers and truths that a user reads (see fact). Each has an oracle, a test that fails if the
// fact is wrong, in lab/draw/shown.tsv; TestEveryFactHasAnOracle fails if one has none. -enrol looks for the oracles of
// facts that have none, and writes them. -list only makes the lines those of today's facts, such as after files were
// moved: new facts are listed without an oracle, and counted in the first line. -verify makes facts wrong in a random
// order, which -seed repeats, and runs their oracles. An oracle that does not notice is run up to four times more, since
// some have random cases; the program counts those that needed it.
//
// The exit status is 1 if a fact has no oracle, or an oracle does not notice. A draw whose defects survive ends with
// status 0, since not every change of the source is a fault: read them.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const drawnFile = "lab/draw/drawn.tsv"

type flags struct {
	n             int
	seed          uint64
	class, below  string
	in            string
	own           bool
	tests         string
	minutes       float64
	enrol, verify bool
	list          bool
	wide          bool
	python, keep  bool
	page          bool
	scratch       string
	others        time.Duration
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("draw: ")
	var f flags
	flag.IntVar(&f.n, "n", 60, "number of defects")
	flag.Uint64Var(&f.seed, "seed", 0, "seed of the draw; by default another one each time")
	flag.StringVar(&f.class, "class", "", "only defects of the class of this name")
	flag.StringVar(&f.in, "in", "", "only defects of files whose path begins so, or so (PATH,PATH)")
	flag.BoolVar(&f.own, "own", false, "judge by the tests of a defect's own package alone")
	flag.DurationVar(&f.others, "others", time.Minute, "the time of the tests of other packages that judge a defect")
	flag.StringVar(&f.below, "below", "", "with -enrol: only facts of files whose path begins so")
	flag.StringVar(&f.tests, "tests", "", "with -enrol or -verify: only tests whose names match this regexp")
	flag.Float64Var(&f.minutes, "minutes", 0, "begin no defect after so many minutes; 0 for no limit")
	flag.BoolVar(&f.enrol, "enrol", false, "look for oracles of shown facts that have none")
	flag.BoolVar(&f.list, "list", false, "only make the lines of "+registryFile+" those of today's facts")
	flag.DurationVar(&patience, "patience", patience, "with -enrol: the time of the tests that are tried for a fact")
	flag.BoolVar(&f.wide, "wide", false, "with -enrol: among the tests of packages that import a fact's, which take long")
	flag.BoolVar(&f.verify, "verify", false, "make shown facts wrong, and run their oracles")
	flag.BoolVar(&f.python, "python", false, "judge defects of the bindings, too: needs minutes for an environment")
	flag.BoolVar(&f.page, "page", false, "only write "+pageFile)
	flag.BoolVar(&f.keep, "keep", false, "add the draw to "+drawnFile)
	flag.StringVar(&f.scratch, "scratch", "", "folder for compiled tests, kept for the next run; by default a temporary one")
	flag.Parse()
	if f.n < 1 || !(f.minutes >= 0) || flag.NArg() > 0 {
		log.Fatalf("n = %d, minutes = %v, arguments %q: must be >= 1, >= 0 and absent", f.n, f.minutes, flag.Args())
	}
	if f.seed == 0 {
		f.seed = rand.Uint64N(1e6) + 1
	}
	if err := f.run(); err != nil {
		log.Fatal(err)
	}
}

func (f flags) run() error {
	if f.page {
		text, err := written()
		if err != nil {
			return err
		}
		return os.WriteFile(pageFile, text, 0o666)
	}
	if f.scratch == "" {
		scratch, err := os.MkdirTemp("", "draw-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
		f.scratch = scratch
	}
	if err := os.MkdirAll(f.scratch, 0o777); err != nil {
		return err
	}
	s, err := load(".", patterns...)
	if err != nil {
		return err
	}
	if f.enrol || f.verify || f.list {
		return f.facts(s)
	}
	return f.draw(s)
}

func (f flags) until() time.Time {
	if f.minutes == 0 {
		return time.Now().Add(1e6 * time.Hour)
	}
	return time.Now().Add(time.Duration(f.minutes * float64(time.Minute)))
}

// facts enrols or verifies shown facts.
func (f flags) facts(s *source) error {
	until := f.until()
	r, _, err := readRegistry(registryFile)
	if err != nil {
		return err
	}
	facts := s.facts()
	if !f.verify {
		r.fit(facts)
	}
	if f.list {
		fmt.Printf("%d facts, %d without an oracle\n", len(r), r.bare())
		return r.write(registryFile)
	}
	w, err := s.instrument(f.scratch, facts, 30*time.Second)
	if err != nil {
		return err
	}
	if w.only, err = regexp.Compile(f.tests); err != nil {
		return err
	}
	if f.verify {
		fmt.Printf("facts are made wrong in the order of -seed %d\n", f.seed)
		v, err := w.verify(facts, r, until, f.seed)
		if err != nil {
			return err
		}
		for _, late := range v.late {
			fmt.Printf("%s notices by chance: %s\n", r[late.key].test, s.describe(late.site))
		}
		for _, m := range v.missed {
			fmt.Printf("%s does not notice: %s\n", r[m.key].test, s.describe(m.site))
		}
		fmt.Printf("%d of %d facts were made wrong; the oracles of %d needed more than one turn\n", v.run, len(facts), len(v.late))
		if len(v.missed) > 0 {
			return fmt.Errorf("%d oracles do not notice in %d turns", len(v.missed), turns)
		}
		return nil
	}
	bare, err := s.enrol(w, facts, r, func(file string) bool { return strings.HasPrefix(file, f.below) },
		f.wide)
	if err != nil {
		return err
	}
	for _, b := range bare {
		fmt.Println("no oracle:", s.describe(b.site))
	}
	if len(bare) > 0 {
		return fmt.Errorf("%d facts have no oracle", len(bare))
	}
	return r.write(registryFile)
}

// within says whether a file is below one of the paths of -in.
func (f flags) within(file string) bool {
	return slices.ContainsFunc(strings.Split(f.in, ","), func(path string) bool { return strings.HasPrefix(file, path) })
}

// tally counts the outcomes of a class.
type tally struct{ caught, judged int }

// draw draws defects and judges them.
func (f flags) draw(s *source) error {
	until := f.until()
	all, err := s.pools()
	if err != nil {
		return err
	}
	for name := range all {
		if f.class != "" && name != f.class || !f.python && name == "binding" {
			delete(all, name)
		}
	}
	for name, of := range all {
		for kind, sites := range of {
			if of[kind] = slices.DeleteFunc(sites, func(d site) bool { return !f.within(d.file) }); len(of[kind]) == 0 {
				delete(of, kind)
			}
		}
		if len(of) == 0 {
			delete(all, name)
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("class = %q, in = %q: has no sites", f.class, f.in)
	}
	lately, err := s.recent(50)
	if err != nil {
		return err
	}
	j := &judge{source: s, scratch: f.scratch, limit: 2 * time.Minute, patient: 90 * time.Second,
		own: f.own, sound: map[string]bool{}}
	if j.scratch, err = filepath.Abs(f.scratch); err != nil {
		return err
	}
	if f.python {
		j.limit = 5 * time.Minute // of the tests of Python that reach a defect, or of R
		if j.python, err = j.environment(); err != nil {
			return err
		}
	}
	commit, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return err
	}
	fmt.Printf("%d defects, -seed %d\n", f.n, f.seed)
	list := draw(all, lately, f.n+f.n/2, f.seed)
	together, fits, err := j.pool(list, until)
	if err != nil {
		return err
	}
	type judged struct {
		i       int
		verdict outcome
		test    string
	}
	var results []judged
	soon := until
	if !f.own {
		soon = time.Now().Add(time.Until(until) * 2 / 3)
	}
	for i, d := range list { // by the tests of their own packages, in two thirds of the time
		if len(results) == f.n || time.Now().After(soon) {
			break
		}
		r := judged{i: i, verdict: invalid}
		if fits[i] {
			r.verdict, r.test, err = together.own(i)
		} else if filepath.Ext(d.file) != ".go" {
			r.verdict, r.test, err = j.judge(d.site)
		} else if j.compiles(d.site) {
			var by *pooled
			if by, err = j.alone(together, i); by != nil {
				r.verdict, r.test, err = by.own(i)
			}
		}
		if err != nil {
			return err
		}
		if r.verdict == invalid || r.verdict == skipped {
			continue
		}
		results = append(results, r)
		fmt.Printf("%-8s %-16s %s  [%s]\n", r.verdict, d.class, s.describe(d.site), r.test)
	}
	rates := map[string]tally{}
	for _, r := range results { // those that survive by the tests of others
		d := list[r.i]
		if r.verdict == survived && filepath.Ext(d.file) == ".go" && !f.own {
			by := together
			if !fits[r.i] {
				if by, err = j.alone(together, r.i); err != nil || by == nil {
					return fmt.Errorf("%s compiles no more: %w", s.describe(d.site), err)
				}
			}
			if time.Now().After(until) {
				fmt.Printf("no time for other packages' tests: %s\n", s.describe(d.site))
			} else if r.verdict, r.test, err = by.others(r.i, s.readersOf(d.folder), f.others, until); err != nil {
				if by == together {
					return err
				}
				continue // a package that imports its own does not compile with it
			}
			fmt.Printf("%-8s %-16s %s  [%s]\n", r.verdict, d.class, s.describe(d.site), r.test)
		}
		t := rates[d.class]
		t.judged++
		if r.verdict == caught {
			t.caught++
		}
		rates[d.class] = t
		if f.keep {
			line := strings.Join([]string{strings.TrimSpace(string(commit)), fmt.Sprint(f.seed), d.class, fmt.Sprint(d.recent),
				string(r.verdict), r.test, s.describe(d.site)}, "\t")
			if err := appendLine(drawnFile, line); err != nil {
				return err
			}
		}
	}
	for _, k := range classes {
		if t := rates[k.name]; t.judged > 0 {
			fmt.Printf("%-16s %d of %d caught\n", k.name, t.caught, t.judged)
		}
	}
	return nil
}

func appendLine(path, line string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if _, err := file.WriteString(line + "\n"); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
