package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stillpoint-dp/stillpoint/internal/holder"
)

// seen is a machine that knows the end of one process.
type seen struct {
	self         holder.Process
	of           holder.Process
	ended, known bool
}

func (s seen) Self() holder.Process { return s.self }

func (s seen) Ended(p holder.Process) (ended, known bool) {
	return s.ended && p == s.of, s.known && p == s.of
}

// TestLeasesAreFreedToTheLetter tests who may settle a run of which another process has the lease, with one change a case,
// and what the refusal says: a run of a process that has ended is free, and one of which nothing is known after two minutes.
func TestLeasesAreFreedToTheLetter(t *testing.T) {
	other := holder.Process{Host: "ward3", Boot: "b", Space: "s", ID: 4711, Start: "99"}
	self := holder.Process{Host: "ward5", Boot: "c", Space: "u", ID: 815, Start: "77"}
	lease := func(p holder.Process, renewed string) Lease {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		return Lease{Run: "run7", Holder: string(text), Events: 3, Charge: .25, Renewed: renewed}
	}
	const noon = "2026-03-01T12:00:00Z"
	later := func(d time.Duration) string {
		then, err := time.Parse(clock, noon)
		if err != nil {
			t.Fatal(err)
		}
		return then.Add(d).Format(clock)
	}
	active.Store("run7", true)
	held := ErrHeld.Error() + ": "
	const unknown = "process 4711 on ward3, last heard of at 2026-03-01T12:00:00Z"
	for name, c := range map[string]struct {
		lease     Lease
		of        seen
		now, want string
	}{
		"ended":    {lease(other, noon), seen{self, other, true, true}, noon, ""},
		"runs":     {lease(other, noon), seen{self, other, false, true}, later(time.Hour), held + "process 4711 on this machine, ward3, runs: end it first"},
		"its own":  {lease(self, noon), seen{self: self}, later(time.Hour), held + "this process, 815 on ward5, holds it"},
		"unknown":  {lease(other, noon), seen{self: self}, noon, held + unknown + ": wait another 2m0s, or end it first"},
		"a second": {lease(other, noon), seen{self: self}, later(119 * time.Second), held + unknown + ": wait another 1s, or end it first"},
		"lapsed":   {lease(other, noon), seen{self: self}, later(2 * time.Minute), ""},
		"unknown, said to have ended": {lease(other, noon), seen{self, other, true, false}, noon,
			held + unknown + ": wait another 2m0s, or end it first"},
		"no time": {lease(other, "noon"), seen{self: self}, later(time.Hour),
			held + "process 4711 on ward3, last heard of at noon: renewed = \"noon\": must be a time"},
		"no clock": {lease(other, noon), seen{self: self}, "now", held + unknown + ": the store's time \"now\" must be a time"},
	} {
		err := c.lease.free(c.of, c.now)
		if got := fmt.Sprint(err); err == nil && c.want != "" || err != nil && (got != c.want || !errors.Is(err, ErrHeld)) {
			t.Errorf("%s: %v: must be %q", name, err, c.want)
		}
	}
	active.Delete("run7")
	if err := lease(self, noon).free(seen{self: self}, noon); err != nil {
		t.Errorf("a run that this process has left: %v", err)
	}
	if got := lease(other, noon).String(); got != unknown {
		t.Errorf("%q", got)
	}
}

// TestLeasedRuns tests which lease a chain has of a run: a run that was reserved with one and has none can only be settled
// in full. The entry that ends a run ends its lease, and no other's.
func TestLeasedRuns(t *testing.T) {
	c := &chain{leases: map[string]Lease{"a": {Run: "a", Charge: .5}, "b": {Run: "b", Charge: .75}}}
	ctx := holder.On(t.Context(), seen{of: holder.Process{}, ended: true, known: true, self: holder.Process{ID: 1}})
	if l, err := c.leased(ctx, RunState{Run: "b", Held: true}, "now"); err != nil || l == nil || l.Charge != .75 {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := c.leased(ctx, RunState{Run: "c"}, "now"); err != nil || l != nil {
		t.Errorf("no lease: %+v, %v", l, err)
	}
	if _, err := c.leased(ctx, RunState{Run: "c", Held: true}, "now"); !errors.Is(err, ErrChain) ||
		!strings.Contains(err.Error(), "run c: its lease is not there") {
		t.Errorf("a lease that is gone: %v", err)
	}
	if e := c.end("b", .625); e.lease == nil || e.lease.Run != "b" || !e.lease.Ended || *e.Charged != .625 || e.Run != "b" ||
		e.Kind != kindSettled || c.leases["b"].Ended || c.leases["a"].Ended {
		t.Errorf("%+v", e)
	}
	if e := c.end("c", .625); e.lease != nil {
		t.Errorf("%+v", e.lease)
	}
}

// TestRunsShowTheirLeases tests that a dataset shows the lease of each run that has one and is not settled, at this run.
func TestRunsShowTheirLeases(t *testing.T) {
	c := &chain{spent: exact(0), runs: []RunState{{Run: "a"}, {Run: "b"}, {Run: "c", Settled: true}},
		leases: map[string]Lease{"a": {Run: "a", Charge: .5}, "c": {Run: "c", Charge: .25}}}
	d, err := c.dataset()
	if err != nil {
		t.Fatal(err)
	}
	if l := d.Runs[0].Lease; l == nil || l.Run != "a" || d.Runs[1].Lease != nil || d.Runs[2].Lease != nil {
		t.Errorf("%+v", d.Runs)
	}
}

// TestAddressesInAFolder tests that a relative file is one of the folder, and that an absolute file and a server are not.
func TestAddressesInAFolder(t *testing.T) {
	folder := t.TempDir()
	absolute := filepath.Join(folder, "own.db")
	for _, c := range []struct{ in, want Address }{
		{Address{File: "a.db"}, Address{File: filepath.Join(folder, "a.db")}}, {Address{File: absolute}, Address{File: absolute}},
		{Address{Server: "postgres://me@host/db"}, Address{Server: "postgres://me@host/db"}}, {Address{}, Address{}},
	} {
		if got := c.in.In(folder); got != c.want {
			t.Errorf("%+v: %+v: must be %+v", c.in, got, c.want)
		}
	}
}

// TestTimesOfLeases tests the times that readers are told: a lease is alive for two minutes after its last renewal, it is
// renewed six times as often, and a store that fails is asked again for a minute and waited for ten seconds at the end.
func TestTimesOfLeases(t *testing.T) {
	b := NewBook(new(slow))
	m := b.keep(t.Context(), "people", Lease{Run: "r"}, 1)
	m.stop()
	for name, c := range map[string][2]time.Duration{"a lease": {leaseTime, 2 * time.Minute}, "its renewal": {renewal, 20 * time.Second},
		"patience": {m.patience, time.Minute}, "the end": {mostWait, 10 * time.Second}} {
		if c[0] != c[1] {
			t.Errorf("%s: %v: must be %v", name, c[0], c[1])
		}
	}
}

// TestRenewalsOutliveTheirRun tests that the renewals of a lease go on when the context of its reservation has ended, and
// that they stop with the run.
func TestRenewalsOutliveTheirRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := NewBook(new(slow)).keep(ctx, "people", Lease{Run: "r"}, 1)
	cancel()
	if err := m.ctx.Err(); err != nil {
		t.Errorf("the context of the renewals ended with that of the reservation: %v", err)
	}
	m.stop()
	if m.ctx.Err() == nil {
		t.Error("the context of the renewals goes on after the run")
	}
}
