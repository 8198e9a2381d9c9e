//go:build mutants

package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"time"
)

const (
	tablePath  = "audit/mutants/mutants.txt"
	caughtPath = "audit/mutants/caught.tsv"
	pagePath   = "docs/mutants.md"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutants: ")
	pattern := flag.String("run", "", "only mutants whose name matches `REGEXP`")
	resume := flag.Bool("resume", false, "skip mutants that caught.tsv has as caught, unchanged since")
	check := flag.Bool("check", false, "only check that the table fits the source and that mutants compile")
	limit := flag.Duration("timeout", 3*time.Minute, "limit for the tests of one mutant")
	flag.Parse()
	wanted, err := regexp.Compile(*pattern)
	if err != nil {
		log.Fatal(err)
	}
	table, err := readTable(tablePath)
	if err != nil {
		log.Fatal(err)
	}
	found, err := readCaught(caughtPath)
	if err != nil {
		log.Fatal(err)
	}
	scratch, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		log.Fatal(err)
	}
	bad := work(table, found, wanted, *resume, *check, runner{scratch: scratch, limit: *limit, sound: map[string]error{}})
	os.RemoveAll(scratch)
	if !*check {
		if err := writePage(pagePath, table, found); err != nil {
			log.Fatal(err)
		}
	}
	if bad > 0 {
		log.Fatalf("%d mutants are not caught", bad)
	}
}

// work runs the wanted mutants and returns how many were not caught.
func work(table []mutant, found results, wanted *regexp.Regexp, resume, check bool, r runner) (bad int) {
	for i, m := range table {
		if !wanted.MatchString(m.name) || resume && found.caught(m) {
			continue
		}
		start := time.Now()
		v, err := r.run(m, check)
		took := time.Since(start).Round(100 * time.Millisecond)
		switch {
		case err != nil:
			bad++
			fmt.Printf("%d/%d %s: ERROR: %v\n", i+1, len(table), m.name, err)
			continue
		case check:
			continue
		case v.test == "":
			bad++
			fmt.Printf("%d/%d %s: SURVIVED (%v)\n", i+1, len(table), m.name, took)
		default:
			fmt.Printf("%d/%d %s: %s %s (%v)\n", i+1, len(table), m.name, v.pkg, v.test, took)
		}
		found[m.name] = v
		if err := found.write(caughtPath, table); err != nil {
			log.Fatal(err)
		}
	}
	return bad
}
