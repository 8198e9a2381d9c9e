package holder

import (
	"context"
	"os/exec"
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
