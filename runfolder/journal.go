package runfolder

import (
	"fmt"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/train"
)

// While a fit runs, its journal keeps everything from which the model and the certificate are made at the
// end. It has a line for the facts that were fixed before the first release, a line for every event before
// the event's answer is handed out, a line for every step, and a line for the files after they are written.
// It contains charges and released values, and nothing else.
//
// Lines are written as they happen, so a killed process loses none. They are put on stable storage about once
// a second, so a machine that stops loses the last second. The fit's limit on privacy loss does not depend on
// the journal: the whole budget is in the ledger before the first answer. The amount that a store of budgets
// frees after a kill does depend on the journal. For a fit with a store, every event is therefore on stable
// storage before its answer. readJournal tells a journal that was damaged or cut off later from a journal
// that a kill has left.

// record is the content of a journal's line. Exactly one of its members is set.
type record struct {
	Head     *train.Head        `json:"head,omitempty"`
	Event    *account.Event     `json:"event,omitempty"`
	Step     *reached           `json:"step,omitempty"`
	Measured *optimize.Measured `json:"measured,omitempty"`
	Compared *optimize.Compared `json:"compared,omitempty"`
	Ready    *ready             `json:"ready,omitempty"`
}

// reached is the released values of a step, as a journal's line states them.
type reached struct {
	Number int `json:"number"`
	// Norm is the norm of the noisy gradient. It is nil if this norm is not kept.
	Norm *float64 `json:"norm,omitempty"`
	// W is the iterate, the vector of weights after the step. Only some of the steps have it.
	W []float64 `json:"w,omitempty"`
}

// ready says that the files of a fit are on stable storage under their temporary names, which readers do not
// see.
type ready struct {
	// Model and Certificate are the SHA-256 hashes of the files. Model is empty if there is no model.
	Model       string `json:"model,omitempty"`
	Certificate string `json:"certificate"`
	// Charged and Complete are what the ledger will state of the fit's end: the charge, and whether
	// the run made all its steps.
	Charged  float64 `json:"charged"`
	Complete bool    `json:"complete"`
}

func (f *folder) journalFile() string { return f.file(fmt.Sprintf("journal-%d.jsonl", f.fit)) }

// syncEvery is the longest time between writing a line of the journal and putting it on stable
// storage.
const syncEvery = time.Second

// A journal is written into reserved space, which is filled with zeros. The journal that a killed process
// leaves ends in such zeros. A file whose end was cut off later does not.
const (
	// roomStep is the least number of bytes by which the reserved space grows.
	roomStep = 1 << 16
	// mostRoom is the largest number of bytes by which the reserved space grows beyond the space needed.
	mostRoom = 1 << 20
	// roomLeft is the number of bytes that stay free after every line, so that the journal's last
	// line, which says that the files are ready, can be written even if the disk is full.
	roomLeft = 1 << 10
)

// journal writes the journal of a run, from which model and certificate are made.
type journal struct {
	file durable.File
	now  func() time.Time
	// every is true if each event must be on stable storage before its answer is handed out. Such a journal
	// proves the whole charge, whatever stopped the machine.
	every bool
	form  form
	// lines is the number of whole lines, and size the number of their bytes. torn is the number of bytes of a
	// failed line after them. reserved is the length of the file.
	lines                int
	size, torn, reserved int64

	events int
	synced time.Time
	// checkpoint is the number of the step whose iterate was written last. checked is the time of this write.
	checkpoint int
	checked    time.Time
	began      time.Time
}

// newJournal begins a fit's journal. The journal's first line is on stable storage when newJournal returns.
func (f *folder) newJournal(h train.Head) (*journal, error) {
	if err := f.removeIfThere(f.journalFile()); err != nil {
		return nil, err
	}
	file, err := f.disk.Create(f.journalFile(), durable.Shared)
	if err != nil {
		return nil, err
	}
	j := &journal{file: file, form: form{numbered: true}, now: time.Now, every: h.Budget != nil}
	j.began = j.now()
	j.checked = j.began
	err = j.add(record{Head: &h})
	if err == nil {
		err = j.sync()
	}
	if err == nil {
		err = f.disk.SyncFolder(f.path)
	}
	if err != nil {
		j.close()
		return nil, err
	}
	return j, nil
}

// add writes a line. If writing fails, the earlier lines stay whole, and the next line overwrites the failed
// one.
func (j *journal) add(r record) error {
	line, err := j.form.write(j.lines+1, r)
	if err != nil {
		return err
	}
	size := int64(len(line))
	if r.Ready == nil {
		if err := j.reserve(j.size + size + roomLeft); err != nil {
			return err
		}
	}
	if short := j.torn - size; short > 0 {
		line = append(line, make([]byte, short)...)
	}
	if _, err := j.file.WriteAt(line, j.size); err != nil {
		j.torn = int64(len(line))
		return err
	}
	j.lines, j.size, j.torn = j.lines+1, j.size+size, 0
	return nil
}

// reserve makes the journal's file at least size bytes long, filled with zeros. The space is on
// stable storage before the first line that may be used to settle a fit in a store of budgets.
func (j *journal) reserve(size int64) error {
	if size <= j.reserved {
		return nil
	}
	length := (size + min(size/8, mostRoom) + roomStep) / roomStep * roomStep
	if err := j.file.Reserve(length); err != nil {
		return err
	}
	if j.every {
		if err := j.file.Sync(); err != nil {
			return err
		}
	}
	j.reserved = length
	return nil
}

// note writes the given events (charges) to the journal, one on each line. They must be the new
// events, from number j.events on.
func (j *journal) note(events []account.Event) error {
	for i := range events {
		if err := j.add(record{Event: &events[i]}); err != nil {
			return err
		}
		j.events++
	}
	if j.every && len(events) > 0 {
		return j.sync()
	}
	if j.now().Sub(j.synced) < syncEvery {
		return nil
	}
	return j.sync()
}

// step writes the released values of a step to the journal.
func (j *journal) step(s train.Step) error {
	r := reached{Number: s.Number}
	if norm, ok := train.KeptNorm(s); ok {
		r.Norm = &norm
	}
	if j.due(s.Number) && finite(s.W) {
		r.W = s.W
		j.checkpoint, j.checked = s.Number, j.now()
	}
	if r.Norm == nil && r.W == nil {
		return nil
	}
	return j.add(record{Step: &r})
}

// due reports whether a step's iterate (the weights after it) must be written to the journal. It
// must if one of two conditions holds: since the last written iterate more than a 64th of the
// earlier steps were taken, or both a second and a hundredth of the run's time have passed. A crash
// therefore loses at most the shorter of these two intervals. Writing takes little time compared
// with computing.
func (j *journal) due(step int) bool {
	if step >= j.checkpoint+1+j.checkpoint/64 {
		return true
	}
	now := j.now()
	return now.Sub(j.checked) >= max(syncEvery, now.Sub(j.began)/100)
}

// ready writes the last line of the journal, which says that the fit's files are on stable storage.
func (j *journal) ready(r ready) error {
	if err := j.add(record{Ready: &r}); err != nil {
		return err
	}
	return j.sync()
}

func (j *journal) sync() error {
	j.synced = j.now()
	return j.file.Sync()
}

func (j *journal) close() { _ = j.file.Close() }
