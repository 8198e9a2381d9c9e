package holder

import (
	"context"
	"os/exec"
	"reflect"
	"runtime"
	"testing"
)

// TestEnded tests that this process and a child that runs have not ended, that a child that was killed has, and
// that nothing is known of processes of other machines, starts and spaces.
func TestEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are told apart on Linux alone")
	}
	m := From(context.Background())
	own := m.Self()
	if ended, known := m.Ended(own); ended || !known {
		t.Errorf("this process: ended %v, known %v", ended, known)
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Skip(err)
	}
	p := own
	p.ID = child.Process.Pid
	p.Start, _ = started(p.ID)
	if ended, known := m.Ended(p); ended || !known {
		t.Errorf("a child: ended %v, known %v", ended, known)
	}
	again := p
	again.Start += "0"
	if ended, known := m.Ended(again); !ended || !known {
		t.Errorf("a number that was given again: ended %v, known %v", ended, known)
	}
	_ = child.Process.Kill()
	for runs := true; runs; { // it is a zombie until Wait
		_, runs = started(p.ID)
	}
	if ended, known := m.Ended(p); !ended || !known {
		t.Errorf("a killed child: ended %v, known %v", ended, known)
	}
	_ = child.Wait()
	if ended, known := m.Ended(p); !ended || !known {
		t.Errorf("a child that is gone: ended %v, known %v", ended, known)
	}
	for name, change := range map[string]func(*Process){
		"boot":  func(p *Process) { p.Boot = "other" },
		"space": func(p *Process) { p.Space = "other" },
		"start": func(p *Process) { p.Start = "" },
	} {
		q := p
		change(&q)
		if ended, known := m.Ended(q); ended || known {
			t.Errorf("another %s: ended %v, known %v", name, ended, known)
		}
	}
}

// TestPlace tests that a place is itself, also after another start of the machine, and no other one.
func TestPlace(t *testing.T) {
	p := Place{Host: "a", Boot: "b", Folder: File{1, 2}, Lock: File{1, 3}, Journal: File{1, 4}}
	again := p
	again.Boot = "c"
	if !p.Is(p) || !p.Is(again) {
		t.Error("a place is not itself")
	}
	for name, q := range map[string]Place{
		"machine": {"x", "y", p.Folder, p.Lock, p.Journal},
		"folder":  {"a", "b", File{1, 9}, p.Lock, p.Journal},
		"device":  {"a", "b", File{9, 2}, p.Lock, p.Journal},
		"lock":    {"a", "b", p.Folder, File{1, 9}, p.Journal},
		"journal": {"a", "b", p.Folder, p.Lock, File{1, 9}},
		"nothing": {},
	} {
		if p.Is(q) || q.Is(p) {
			t.Errorf("another %s is the same place", name)
		}
	}
	if (Place{Host: "a"}).Is(Place{Host: "a"}) {
		t.Error("an unknown place is the same")
	}
}

// TestPlacesOfMachines tests by all combinations of hosts and starts when two places are on the same machine, and that
// a place is known if its folder and its lock are, each by its device or its number.
func TestPlacesOfMachines(t *testing.T) {
	values := []string{"", "a", "b"}
	folder, lock := File{1, 2}, File{1, 3}
	for _, h1 := range values {
		for _, h2 := range values {
			for _, b1 := range values {
				for _, b2 := range values {
					p, q := Place{Host: h1, Boot: b1, Folder: folder, Lock: lock}, Place{Host: h2, Boot: b2, Folder: folder, Lock: lock}
					if got, want := p.Is(q), h1 == h2 && h1 != "" || b1 == b2 && b1 != ""; got != want {
						t.Errorf("%+v is %+v: %v", p, q, got)
					}
				}
			}
		}
	}
	for f, known := range map[File]bool{{}: false, {1, 0}: true, {0, 1}: true, {1, 1}: true} {
		if f.Known() != known {
			t.Errorf("%+v is known: %v", f, !known)
		}
		for _, p := range []Place{{Host: "a", Folder: f, Lock: lock}, {Host: "a", Folder: folder, Lock: f}} {
			if p.Is(p) != known {
				t.Errorf("%+v is itself: %v", p, !known)
			}
		}
	}
}

// TestEveryFieldOfAPlace changes one number of a place at a time: no other place is the same.
func TestEveryFieldOfAPlace(t *testing.T) {
	p := Place{Host: "a", Boot: "b", Folder: File{1, 2}, Lock: File{3, 4}, Journal: File{5, 6}}
	for _, name := range []string{"Folder", "Lock", "Journal"} {
		for _, number := range []string{"Device", "Inode"} {
			for _, value := range []uint64{0, 99} {
				q := p
				reflect.ValueOf(&q).Elem().FieldByName(name).FieldByName(number).SetUint(value)
				if p.Is(q) || q.Is(p) {
					t.Errorf("%s.%s = %d: is the same place", name, number, value)
				}
			}
		}
	}
	if n := reflect.TypeFor[Place]().NumField(); n != 5 {
		t.Errorf("a place has %d fields: each must be changed here", n)
	}
}
