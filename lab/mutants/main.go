//go:build mutants

package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"time"
)

const (
	tablePath  = "lab/mutants/mutants.txt"
	caughtPath = "lab/mutants/caught.tsv"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutants: ")
	pattern := flag.String("run", "", "only mutants whose name matches `REGEXP`")
	resume := flag.Bool("resume", false,
		"skip mutants that caught.tsv has as caught, if neither they nor the tests' sources have changed since")
	fresh := flag.Bool("new", false, "skip mutants that caught.tsv has as caught, whatever has changed around them since")
	stated := flag.Bool("status", false, "run no mutant: only count the verdicts that hold for the source as it is")
	check := flag.Bool("check", false, "only check that the table fits the source and that mutants compile")
	limit := flag.Duration("timeout", 3*time.Minute, "limit for the tests of one mutant")
	sample := flag.Int("sample", 0,
		"run only `N` mutants, drawn at random from all, and write nothing")
	minutes := flag.Float64("minutes", 0, "start no mutant after `M` minutes; the order is random, and nothing is written")
	seed := flag.Uint64("seed", 0, "seed of the random order; by default another one each time")
	workers := flag.Int("p", runtime.NumCPU(), "mutants at a time")
	flag.Parse()
	if *sample < 0 || !(*minutes >= 0) || *workers < 1 || flag.NArg() > 0 {
		log.Fatalf("sample = %d, minutes = %v, p = %d, arguments %q: must be >= 0, >= 0, >= 1 and absent", *sample, *minutes,
			*workers, flag.Args())
	}
	wanted, err := regexp.Compile(*pattern)
	if err != nil {
		log.Fatal(err)
	}
	table, err := readTable(tablePath)
	if err != nil {
		log.Fatal(err)
	}
	unfit := unfitting(table)
	for _, err := range unfit {
		fmt.Println("ERROR:", err)
	}
	found, err := readCaught(caughtPath)
	if err != nil {
		log.Fatal(err)
	}
	sources, err := readSources()
	if err != nil {
		log.Fatal(err)
	}
	if *stated {
		fmt.Print(status(table, found, sources))
		return
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		log.Fatal(err)
	}
	partial := *sample > 0 || *minutes > 0
	chosen := selection{names: wanted, resume: *resume, fresh: *fresh}.of(table, found, sources)
	b := batch{
		runner: newRunner(scratch, *limit), workers: *workers, check: *check,
		sources: sources, total: len(chosen),
	}
	if partial {
		if *seed == 0 {
			*seed = rand.Uint64()
		}
		chosen = shuffled(chosen, *sample, *seed)
		b.until = deadline(*minutes)
		fmt.Printf("at most %d of %d mutants (there are %d), -seed %d\n", len(chosen), b.total, len(table), *seed)
	}
	if !partial && !*check {
		b.keep = func(name string, v verdict) error {
			found[name] = v
			return found.write(caughtPath, table)
		}
	}
	bad := b.run(chosen) + len(unfit)
	os.RemoveAll(scratch)
	if bad > 0 {
		log.Fatalf("%d mutants are not caught", bad)
	}
}

// deadline returns the time in the given number of minutes. For 0 minutes it returns the zero time, which
// means no deadline.
func deadline(minutes float64) time.Time {
	if minutes == 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(minutes * float64(time.Minute)))
}

// unfitting returns an error for each mutant that cannot be made, because its file cannot be read or a text
// that it replaces does not occur exactly once there.
func unfitting(table []mutant) (list []error) {
	for _, m := range table {
		text, err := os.ReadFile(m.file)
		if err == nil {
			_, err = m.apply(string(text))
		}
		if err != nil {
			list = append(list, fmt.Errorf("%s: %w", m.name, err))
		}
	}
	return list
}
