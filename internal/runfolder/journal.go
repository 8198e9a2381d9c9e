package runfolder

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// While a fit runs, its journal holds everything that is needed to make the model and the certificate. Its
// first line has the facts that were fixed before the first release. Every event (charge) has a line, which
// is written before the algorithm gets the answer. Lines also hold the released values of steps, of the
// measurement and of the comparison. The last line is written when the model and the certificate are on
// stable storage. A journal contains charges and released values, and nothing else of a table.
//
// Each line is written at once, so a killed process loses none. Lines are put on stable storage at most once
// a second, so a machine that stops may lose the last ones. The fit's limit on privacy loss does not depend
// on the journal, since the whole budget is in the ledger before the first release. The amount that a store
// of budgets frees after a kill depends on the journal, too. For a fit with a store, every event is therefore
// on stable storage before the algorithm gets its answer. readJournal distinguishes a journal that a killed
// process left from a journal that was damaged or cut off later.

// record is the content of a journal's line. Exactly one of its members is set.
type record struct {
	Head  *train.Header  `json:"head,omitempty"`
	Event *account.Event `json:"event,omitempty"`
	Step  *reached       `json:"step,omitempty"`
	train.Line
	Ready *ready `json:"ready,omitempty"`
}

// reached has the released values of a step, as a journal's line states them.
type reached struct {
	Number int `json:"number"`
	// Norm is the norm of the noisy gradient, rounded as in the certificate. It is nil if the norm is not
	// finite, or if the run has more than train.MostNorms steps: a certificate lists no such norm.
	Norm *float64 `json:"norm,omitempty"`
	// W is the iterate, the vector of weights after the step. It is nil for most steps (see due).
	W []float64 `json:"w,omitempty"`
}

// ready says that the files of a fit are on stable storage under their temporary names, which readers do not
// see.
type ready struct {
	// Model and Certificate are the SHA-256 hashes of the files. Model is empty if there is no model.
	Model       string `json:"model,omitempty"`
	Certificate string `json:"certificate"`
	// Charged is the fit's final charge, in units of mu^2, and Complete reports whether the run made all its
	// steps. The ledger will state both.
	Charged  float64 `json:"charged"`
	Complete bool    `json:"complete"`
}

func (f *folder) journalFile() string { return f.file(fmt.Sprintf("journal-%d.jsonl", f.fit)) }

// syncEvery is the least time between two writes of the journal to stable storage, if not every event must be
// there before its answer.
const syncEvery = time.Second

// A journal is written into reserved space, which is filled with zeros. A journal that a killed process
// leaves therefore ends in zeros. A file whose end was cut off later does not end in zeros.
const (
	// roomStep is the number of bytes of which the reserved space is a multiple.
	roomStep = 1 << 16
	// mostRoom is the largest number of bytes that are reserved beyond the bytes needed, before rounding up
	// to a multiple of roomStep.
	mostRoom = 1 << 20
	// roomLeft is the number of bytes that stay free after every line, so that the journal's last
	// line, which says that the files are ready, can be written even if the disk is full.
	roomLeft = 1 << 10
)

// journal writes the journal of a run, from which model and certificate are made.
type journal struct {
	file durable.File
	now  func() time.Time
	// every is true if each event must be on stable storage before the algorithm gets its answer. The journal then has
	// all charges even if the machine stops. It is true for fits that are charged to a store of budgets.
	every bool
	form  lineFormat
	// lines is the number of whole lines, and size the number of their bytes. torn is the number of bytes
	// after them that a failed write may have left. reserved is the length of the file in bytes.
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
func (f *folder) newJournal(h train.Header) (*journal, error) {
	if err := f.removeIfThere(f.journalFile()); err != nil {
		return nil, err
	}
	file, err := f.disk.Create(f.journalFile(), durable.Shared)
	if err != nil {
		return nil, err
	}
	if h.Budget != nil {
		here := f.here(file)
		h.Place = &here
	}
	j := &journal{file: file, form: lineFormat{numbered: true}, now: time.Now, every: h.Budget != nil}
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

// add writes the record r as the next line. If writing fails, the earlier lines stay whole, and the next call
// of add overwrites the failed line.
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

// reserve makes the journal's file at least size bytes long, filled with zeros. If every event must be on
// stable storage (every), reserve also puts the new length on stable storage.
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

// note writes new events (charges) to the journal, one on each line. The first must have the index j.events.
// note puts the journal on stable storage if every is true or the last time was at least syncEvery ago.
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

// step writes the released values of a step to the journal: the gradient norm if the certificate will list
// it, and the iterate if it is due. If neither applies, step writes nothing.
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

// due reports whether the iterate (the weights) after the given step must be written to the journal. There
// are two conditions, and either is enough. The first is that the number of steps since the last written
// iterate exceeds a 64th of that iterate's number. The second is that the time since then is at least a
// second and at least a hundredth of the run's time. A crash therefore loses at most the shorter of these two
// intervals, and writing takes little time compared with computing.
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

// lineFormat is the format of a journal's lines. A numbered line begins with its number, counted from 1, and a
// checksum over this number and the record:
//
//	{"line":7,"sum":"0123456789abcdef","event":{...}}
//
// The checksum of every line but the first also covers the checksum of the first line, so a line of another
// journal is never accepted as a line of this one. A line of a journal of version 1 has neither number nor
// checksum: it is the record's JSON text.
type lineFormat struct {
	numbered bool
	// salt is the checksum of the journal's first line. It is empty until the first line has been read or
	// written.
	salt string
}

const (
	lineOpen  = `{"line":`
	sumOpen   = `,"sum":"`
	sumClose  = `",`
	sumDigits = 16
)

// lineSum returns the checksum of a journal's line: the first 16 hexadecimal digits of a SHA-256 over the
// salt, the line's number, and the line's text after the checksum.
func (f *lineFormat) lineSum(number int, rest []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "stillpoint journal\n%s\n%d\n", f.salt, number)
	h.Write(rest)
	return hex.EncodeToString(h.Sum(nil))[:sumDigits]
}

// write returns a record as a line of the journal with the given number. The line ends in a
// newline.
func (f *lineFormat) write(number int, r record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil || !f.numbered {
		return append(text, '\n'), err
	}
	rest := text[1:] // after the opening brace
	sum := f.lineSum(number, rest)
	if number == 1 {
		f.salt = sum
	}
	return fmt.Appendf(nil, "%s%d%s%s%s%s\n", lineOpen, number, sumOpen, sum, sumClose, rest), nil
}

var errLine = errors.New("its number or checksum is not that of its text")

// read parses a line of the journal, given without its newline. It returns the line's record and number. The
// number is 0 in journals without line numbers. A malformed line or a wrong checksum is an error.
func (f *lineFormat) read(line []byte) (number int, r record, err error) {
	if !f.numbered {
		r, err = parseRecord(line)
		return 0, r, err
	}
	rest, ok := bytes.CutPrefix(line, []byte(lineOpen))
	digits, rest, also := bytes.Cut(rest, []byte(sumOpen))
	number, err = strconv.Atoi(string(digits))
	if !ok || !also || err != nil || strconv.Itoa(number) != string(digits) || len(rest) < sumDigits+len(sumClose) {
		return 0, r, errLine
	}
	sum, rest := string(rest[:sumDigits]), rest[sumDigits:]
	rest, ok = bytes.CutPrefix(rest, []byte(sumClose))
	if !ok || sum != f.lineSum(number, rest) {
		return 0, r, errLine
	}
	if number == 1 {
		f.salt = sum
	}
	r, err = parseRecord(append([]byte{'{'}, rest...))
	return number, r, err
}

func parseRecord(line []byte) (r record, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, err
	}
	if _, err := d.Token(); err != io.EOF {
		return r, errors.New("must be one JSON value")
	}
	return r, nil
}
