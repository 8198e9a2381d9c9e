package runfolder

import (
	"fmt"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/train"
)

// While a fit runs, its journal keeps everything from which its files are made at the end. It has a line for
// the facts that were fixed before the first release, a line for every event before the event's answer is
// handed out, a line for every step, and a line for the files after they are written. It contains charges and
// released values, and nothing else.
//
// Lines are written as they happen, so a killed process loses none. They are put on stable storage about once
// a second, so a machine that stops loses the last second. The fit's limit on privacy loss does not depend on
// the journal: the whole budget is in the ledger before the first answer. The amount that a store of budgets
// frees after a kill does depend on the journal. For a fit with a store, every event is therefore on stable
// storage before its answer, and readJournal distinguishes a journal that was damaged or cut off later from a
// journal that a kill has left.

// record is a line of a journal. Exactly one of its members is set.
type record struct {
	Head     *train.Head        `json:"head,omitempty"`
	Event    *account.Event     `json:"event,omitempty"`
	Step     *reached           `json:"step,omitempty"`
	Measured *optimize.Measured `json:"measured,omitempty"`
	Compared *optimize.Compared `json:"compared,omitempty"`
	Ready    *ready             `json:"ready,omitempty"`
}

// reached is the released values of a step.
type reached struct {
	Number int `json:"number"`
	// Norm is the norm of the noisy gradient; nil if it is not kept.
	Norm *float64 `json:"norm,omitempty"`
	// W is the iterate. Only some of the steps have it.
	W []float64 `json:"w,omitempty"`
}

// ready says that the files of a fit are on stable storage under their temporary names, which readers do not
// see.
type ready struct {
	// Model and Certificate are the SHA-256 of the files. Model is empty if there is no model.
	Model       string `json:"model,omitempty"`
	Certificate string `json:"certificate"`
	// Charged and Complete are values for the ledger.
	Charged  float64 `json:"charged"`
	Complete bool    `json:"complete"`
}

func (f *folder) journalFile() string { return f.file(fmt.Sprintf("journal-%d.jsonl", f.fit)) }

// syncEvery is the longest time before a line is put on stable storage.
const syncEvery = time.Second

// A journal is written into reserved space, which is filled with zeros. A journal that a kill leaves ends in
// such zeros; a file whose end was cut off does not.
const (
	// roomStep is the least growth of the reserved space, in bytes.
	roomStep = 1 << 16
	// mostRoom is the greatest growth beyond the needed space, in bytes.
	mostRoom = 1 << 20
	// roomLeft is the space, in bytes, that stays free after every line for the last line. The last line says
	// that the files are ready, and can so be written even if the disk is full.
	roomLeft = 1 << 10
)

// journal writes a journal.
type journal struct {
	file durable.File
	now  func() time.Time
	// every is true if each event must be on stable storage before its answer is handed out. Such a journal
	// proves the whole charge, whatever stopped the machine.
	every bool
	form  form
	// lines is the number of lines and size their bytes. torn is the bytes of a failed line after them, and
	// room the length of the file.
	lines            int
	size, torn, room int64

	events int
	synced time.Time
	// checkpoint is the step of the last written iterate; its time is kept too.
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

// add writes a line. If it fails, the lines before stay whole, and the next line overwrites the failed one.
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

// reserve reserves space for size bytes. The space is on stable storage before any line is written by which a
// store may be settled.
func (j *journal) reserve(size int64) error {
	if size <= j.room {
		return nil
	}
	room := (size + min(size/8, mostRoom) + roomStep) / roomStep * roomStep
	if err := j.file.Reserve(room); err != nil {
		return err
	}
	if j.every {
		if err := j.file.Sync(); err != nil {
			return err
		}
	}
	j.room = room
	return nil
}

// note writes the events from number j.events on, which are new.
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

// step writes the released values of a step.
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

// due reports whether a step's iterate must be written. An iterate is due if the steps since the last one are
// more than a 64th of the steps before it, or if the time since then is at least a second and a hundredth of
// the run's time. A crash loses no more than the shorter of the two. Writing takes little time compared with
// computing.
func (j *journal) due(step int) bool {
	if step >= j.checkpoint+1+j.checkpoint/64 {
		return true
	}
	now := j.now()
	return now.Sub(j.checked) >= max(syncEvery, now.Sub(j.began)/100)
}

// ready writes the line that says that the files are ready.
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
