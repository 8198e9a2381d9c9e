// Package holder says which process holds a run of a store of budgets, and whether that process has ended. A
// run has one holder at a time: the process whose session gives the answers.
package holder

import "context"

// Process identifies a process among all processes of all machines. An empty field is not known.
type Process struct {
	// Host is the name of the machine, and Boot the identity of the machine's present start.
	Host string `json:"host"`
	Boot string `json:"boot,omitempty"`
	// Space is the identity of the process's space of process numbers. Two containers have two spaces.
	Space string `json:"space,omitempty"`
	// ID is the number of the process, and Start the time of its start by the clock of the machine's start.
	ID    int    `json:"process"`
	Start string `json:"start,omitempty"`
}

// Machine is the machine on which a process runs. Tests replace it.
type Machine interface {
	// Self returns the identity of this process.
	Self() Process
	// Ended reports whether the process p has ended. known is false if this machine cannot tell, for example
	// because p is a process of another machine.
	Ended(p Process) (ended, known bool)
}

type key struct{}

// On returns a context in which [From] returns m.
func On(ctx context.Context, m Machine) context.Context { return context.WithValue(ctx, key{}, m) }

// From returns the machine of a context that [On] has made, and the real machine of any other context.
func From(ctx context.Context) Machine {
	if m, ok := ctx.Value(key{}).(Machine); ok {
		return m
	}
	return machine{}
}

// machine is the real machine.
type machine struct{}

// Same reports whether two processes run on the same machine, perhaps after another start of it.
func (p Process) Same(q Process) bool {
	return p.Host != "" && p.Host == q.Host || p.Boot != "" && p.Boot == q.Boot
}

// near reports whether p and q have their numbers from the same space, so that a number names one process.
func (p Process) near(q Process) bool {
	return p.Boot != "" && p.Boot == q.Boot && p.Space != "" && p.Space == q.Space
}

// Ended implements Machine. A process has ended if no process has its number, or if that one has started at
// another time.
func (machine) Ended(p Process) (ended, known bool) {
	if self := (machine{}).Self(); !self.near(p) || p.Start == "" {
		return false, false
	}
	start, runs := started(p.ID)
	return !runs || start != p.Start, true
}

// Place identifies the folder of a run and files in it. A copy of the folder has another Place.
type Place struct {
	// Host and Boot say on which machine the numbers of devices are meant.
	Host   string `json:"host"`
	Boot   string `json:"boot,omitempty"`
	Folder File   `json:"folder"`
	Lock   File   `json:"lock"`
	// Journal is the file of the run's journal; the zero File in a place that is not that of a journal.
	Journal File `json:"journal,omitzero"`
}

// File identifies a file or a folder by its device and its number on the device. The zero File is not known.
type File struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// Known reports whether f identifies a file.
func (f File) Known() bool { return f != File{} }

// Is reports whether q is the place p: a place on the same machine with the same folder, lock and journal.
// A machine that was started again is the same machine.
func (p Place) Is(q Place) bool {
	same := Process{Host: p.Host, Boot: p.Boot}.Same(Process{Host: q.Host, Boot: q.Boot})
	return same && p.Folder.Known() && p.Lock.Known() && p.Folder == q.Folder && p.Lock == q.Lock && p.Journal == q.Journal
}
