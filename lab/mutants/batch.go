//go:build mutants

package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"regexp"
	"sync"
	"time"
)

// selection says which mutants the flags select. The zero value selects all mutants. A random sample is
// drawn from the selected mutants. Without -resume and -new, the verdicts recorded in caught.tsv do not
// matter to the selection.
type selection struct {
	names  *regexp.Regexp // select the mutants whose name matches; nil for all
	resume bool           // leave out mutants with a recorded catch that still holds (see verdict.caught)
	fresh  bool           // leave out mutants that were caught and have not changed since (see verdict.claimed)
}

func (s selection) of(table []mutant, found results, sources sources) (list []mutant) {
	for _, m := range table {
		v := found[m.name]
		if (s.names == nil || s.names.MatchString(m.name)) && !(s.resume && v.caught(m, sources)) &&
			!(s.fresh && v.claimed(m)) {
			list = append(list, m)
		}
	}
	return list
}

// shuffled returns n of the mutants in a random order that the seed determines. If n is 0 or above the
// number of mutants, it returns all of them.
func shuffled(list []mutant, n int, seed uint64) []mutant {
	list = append([]mutant(nil), list...)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if n > 0 && n < len(list) {
		list = list[:n]
	}
	return list
}

// batch runs the tests on a list of mutants (copies of the source with one seeded defect), several
// at a time.
type batch struct {
	runner  *runner
	workers int
	check   bool      // only check that the mutants compile
	until   time.Time // no mutant starts after this time; zero for no limit
	sources sources
	total   int
	keep    func(name string, v verdict) error // records a verdict; nil to record none
}

// run tests the mutants, prints every verdict, and returns the number of mutants that no test caught or
// whose test ended with an error.
func (b batch) run(list []mutant) (bad int) {
	var mu sync.Mutex
	var done, skipped int
	var group sync.WaitGroup
	queue := make(chan mutant)
	for range b.workers {
		group.Go(func() {
			for m := range queue {
				if !b.until.IsZero() && time.Now().After(b.until) {
					mu.Lock()
					skipped++
					mu.Unlock()
					continue
				}
				start := time.Now()
				v, err := b.one(m)
				took := time.Since(start).Round(100 * time.Millisecond)
				mu.Lock()
				done++
				if err != nil || !b.check && v.outcome != caught {
					bad++
				}
				b.report(done, len(list), m, v, err, took)
				mu.Unlock()
			}
		})
	}
	for _, m := range list {
		queue <- m
	}
	close(queue)
	group.Wait()
	if !b.check {
		fmt.Printf("%d run, %d not caught, %d left out by the time limit\n", done, bad, skipped)
	}
	return bad
}

func (b batch) one(m mutant) (verdict, error) {
	if b.check {
		return verdict{}, b.runner.compiles(m)
	}
	v, err := b.runner.run(m)
	v.key, v.sources = m.key(), b.sources.key(m)
	return v, err
}

func (b batch) report(done, of int, m mutant, v verdict, err error, took time.Duration) {
	switch {
	case err != nil:
		fmt.Printf("%d/%d %s: ERROR: %v\n", done, of, m.name, err)
		return
	case b.check:
		return
	case v.outcome == caught:
		fmt.Printf("%d/%d %s: %s %s (%v)\n", done, of, m.name, v.pkg, v.test, took)
	default:
		fmt.Printf("%d/%d %s: NOT CAUGHT: %s %s %s (%v)\n", done, of, m.name, v.outcome, v.pkg, v.test, took)
	}
	if b.keep != nil {
		if err := b.keep(m.name, v); err != nil {
			log.Fatal(err)
		}
	}
}
