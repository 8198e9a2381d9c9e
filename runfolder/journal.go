package runfolder

import (
	"fmt"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/train"
)

// A journal keeps of a fit, while it runs, what its files are made of at the
// end: a line for what was settled before the first release, for every event
// before its answer is handed out, for every step, and for the files once they
// are written. It holds charges and released values, and nothing else.
//
// Lines are written as they happen, so that a killed process loses none. They
// are put on stable storage now and then, so that a machine that stops loses the
// last second; what the fit may cost is in the ledger before its first answer,
// and does not rest on the journal. What a store of budgets has back does: then
// every event is on stable storage before its answer, and a journal that was
// damaged or cut off later is told from one that a kill has left (readJournal).

// record is a line of a journal: one of its members.
type record struct {
	Head     *train.Head        `json:"head,omitempty"`
	Event    *account.Event     `json:"event,omitempty"`
	Step     *reached           `json:"step,omitempty"`
	Measured *optimize.Measured `json:"measured,omitempty"`
	Compared *optimize.Compared `json:"compared,omitempty"`
	Ready    *ready             `json:"ready,omitempty"`
}

// reached is what a step released.
type reached struct {
	Number int `json:"number"`
	// Norm is that of the noisy gradient; nil if it is not kept.
	Norm *float64 `json:"norm,omitempty"`
	// W is the iterate, at some of the steps.
	W []float64 `json:"w,omitempty"`
}

// ready says that the files of a fit are on stable storage under the names that
// they have before they are seen.
type ready struct {
	// Model and Certificate are their SHA-256; Model is empty if there is none.
	Model       string `json:"model,omitempty"`
	Certificate string `json:"certificate"`
	// Charged and Complete are for the ledger.
	Charged  float64 `json:"charged"`
	Complete bool    `json:"complete"`
}

func (f *folder) journalFile() string { return f.file(fmt.Sprintf("journal-%d.jsonl", f.fit)) }

// syncEvery is how long a line may wait to be put on stable storage.
const syncEvery = time.Second

// A journal is written into room that was reserved for it, which is zeros. What a kill
// leaves ends in such room; a file whose end was cut off does not.
const (
	// roomStep is by how much the room grows at least.
	roomStep = 1 << 16
	// mostRoom is how much more than it needs it grows at most.
	mostRoom = 1 << 20
	// roomLeft stays free after every line for the last one, which says that the files are
	// ready, so that it is written though the disk is full.
	roomLeft = 1 << 10
)

// journal writes one.
type journal struct {
	file durable.File
	now  func() time.Time
	// every has each event on stable storage before its answer is handed out, so that a
	// journal proves all that was charged whatever stopped the machine.
	every bool
	form  form
	// lines is how many there are, size what they take, torn what follows of one that
	// failed, and room how long the file is.
	lines            int
	size, torn, room int64

	events int
	synced time.Time
	// checkpoint is the step, and the time, of the last iterate.
	checkpoint int
	checked    time.Time
	began      time.Time
}

// newJournal begins a fit's journal: its head is on stable storage when
// newJournal returns.
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

// add writes a line. One that fails leaves those before it whole, and is overwritten
// by the next.
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

// reserve makes room for so many bytes, on stable storage before a line is written
// that a store may be settled by.
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

// step writes what a step released.
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

// due reports whether a step's iterate is to be kept: so often that a crash loses
// a step in sixty, or a second or a hundredth of the time, whichever is less, and
// so seldom that writing them is no work beside making them.
func (j *journal) due(step int) bool {
	if step >= j.checkpoint+1+j.checkpoint/64 {
		return true
	}
	now := j.now()
	return now.Sub(j.checked) >= max(syncEvery, now.Sub(j.began)/100)
}

// ready writes that the files are.
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
