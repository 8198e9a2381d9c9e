package runfolder

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/durable/durabletest"
	"github.com/stillpoint-dp/stillpoint/model"
)

// TestRecoveredHazards: the model that is recovered from the journal of a killed fit of the time to an event has the
// baseline hazards that the fit had released, whichever operation on the disk was the fit's last.
func TestRecoveredHazards(t *testing.T) {
	dir := t.TempDir()
	s := scene{dir, filepath.Join(dir, "out")}
	r, table := rand.New(rand.NewPCG(1, 2)), strings.Builder{}
	table.WriteString("age,sex,days,died\n")
	for range 3000 {
		fmt.Fprintf(&table, "%d,%s,%.2f,%d\n", 20+r.IntN(60), []string{"f", "m"}[r.IntN(2)], 9*r.Float64(), r.IntN(2))
	}
	write(t, filepath.Join(dir, "people.csv"), table.String())
	write(t, s.config(), "data: people.csv\nschema:\n  columns: {age: {number: [0, 100]}, sex: {category: [f, m]}}\n"+
		"  target: {time: days, event: died, cuts: [3, 6], changing: sex}\nmodel: {family: lines}\n"+
		"privacy: {epsilon: 2, delta: 1e-6, relation: replace-one}\ntrain: {algorithm: gd, steps: 3}\n")
	d := durabletest.New()
	f, _, err := s.fitOn(t, context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	want := f.Model.Schema().Target()
	recovered := 0
	for n := range d.Ops() {
		left := d.Crash(n, durabletest.Kept{})
		if r, err := recoverIn(context.Background(), left, diskOut, RecoverOptions{Overwrite: true}); err != nil || r.ModelPath == "" ||
			r.Step == 0 {
			continue
		}
		recovered++
		made, _ := left.Text(diskOut + "/" + ModelFile)
		m, err := model.Parse([]byte(made))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Schema().Target(); len(got.Hazards) != 4 || !slices.Equal(got.Hazards, want.Hazards) ||
			!slices.Equal(got.HazardErrors, want.HazardErrors) {
			t.Fatalf("after %d operations: hazards %v, must be %v", n, got.Hazards, want.Hazards)
		}
	}
	if recovered < 3 {
		t.Fatalf("%d models recovered", recovered)
	}
}
