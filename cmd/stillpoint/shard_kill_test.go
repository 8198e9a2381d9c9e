//go:build unix

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var kills = flag.Int("kills", 6, "number of points at which TestFitOverShardsIsKilled kills a fit")

// TestFitOverShardsIsKilled kills fits over worker processes at many points: before workers are ready, at each of the
// first lines of the journal, and later. The workers must end. The store must have all of a killed run's budget as
// open, recover must make a certificate that verifies, and a model once there was a step,
// or say that nothing was released, and the store must then
// have the released part as spent and nothing open. A fit that is not killed must follow.
func TestFitOverShardsIsKilled(t *testing.T) {
	yaml := shardedYAML + "budget: {store: \"sqlite:%s\", dataset: people}\ntrain: {algorithm: gd, steps: %d}\n"
	dir := t.TempDir()
	store := filepath.Join(dir, "b.db")
	args := []string{"people", "--store", "sqlite:" + store}
	succeeds(t, dir, append([]string{"budget", "create"}, append(args, "--epsilon", "100", "--delta", "1e-3", "--relation",
		"replace-one")...)...)
	var spent, last float64
	models := 0
	open := func() float64 {
		var d struct{ Spent, Open float64 }
		if err := json.Unmarshal([]byte(succeeds(t, dir, append([]string{"budget", "show", "--json"}, args...)...).stdout),
			&d); err != nil {
			t.Fatal(err)
		}
		spent = d.Spent
		return d.Open
	}
	for i := range *kills + 1 {
		killed := i < *kills
		s := newShardedOf(t, fmt.Sprintf(yaml, store, map[bool]int{true: 20_000, false: 20}[killed]), 2)
		workers := []*child{s.worker(0, shardRows(1, 400), true), s.worker(1, shardRows(2, 300), true)}
		if !killed {
			s.fit.ends(t, 0, patience)
		} else {
			lines := []int{0, 1, 2, 3, 4}[min(i, 4)]
			if i > 4 {
				lines += rand.IntN(200)
			}
			for end := time.Now().Add(patience); lines > 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
				text, _ := os.ReadFile(filepath.Join(s.dir, "out", "journal-1.jsonl"))
				if strings.Count(string(text), "\n") >= lines {
					break
				}
			}
			if err := s.fit.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			s.fit.ends(t, -1, soon)
		}
		for _, w := range workers {
			w.endsAs(t, map[bool][]int{true: {exitFailed, exitSystem}, false: {0}}[killed], patience)
		}
		reserved := open()
		if reserved != 0 && !killed || reserved == 0 && killed && i > 0 {
			t.Errorf("fit %d: %v is open in the store", i, reserved)
		}
		text, code := commandIn(t, s.dir, "recover", "out")
		nothing := strings.Contains(text, "released nothing")
		switch {
		case killed && (code != 0 || nothing):
			if i > 3 {
				t.Errorf("fit %d: recover: exit code %d: %s", i, code, text)
			}
		default:
			verify := []string{"verify", "out/certificate.json"}
			if _, err := os.Stat(filepath.Join(s.dir, "out", "model.json")); err == nil {
				verify, models = append(verify, "--model", "out/model.json"), models+1
			}
			succeeds(t, s.dir, verify...)
		}
		if code == 0 && open() != 0 {
			t.Errorf("fit %d: recovered, and something is open in the store", i)
		}
		if open(); spent < last || spent == last && code == 0 && !nothing || spent != last && nothing || killed && code == 0 && spent > last+reserved {
			t.Errorf("fit %d: the store has %v as spent, after %v and %v in reserve", i, spent, last, reserved)
		}
		last = spent
	}
	if models < 1+*kills/6 {
		t.Errorf("%d models of %d fits", models, *kills+1)
	}
}
