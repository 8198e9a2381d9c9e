package train

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// mostLine is the most bytes of a journal's line: a head with a wide schema, or an
// iterate as wide.
const mostLine = 64 << 20

// told is what a journal tells of a run.
type told struct {
	head *head
	// parameters is how many weights the head's model has.
	parameters int
	events     []account.Event
	norms      []float64
	step       int // whose iterate weights is
	weights    []float64
	measured   *optimize.Measured
	compared   *optimize.Compared
	ready      *ready
	// size is that of the lines read. What follows was being written when the
	// machine stopped, and tells nothing.
	size int64
}

// tells reads the journal of a fit. The error is fs.ErrNotExist if there is none.
func (f *folder) tells() (*told, error) {
	file, err := f.disk.Open(f.journalFile())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	t, err := readJournal(file, mostLine)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.journalFile(), err)
	}
	return t, nil
}

// readJournal reads lines up to the first that is none or does not follow from
// those before it: a crash may leave anything where lines were not yet on stable
// storage, but what was is a beginning of the journal. The first line was before
// the budget was reserved: a journal without its head is an error.
func readJournal(r io.Reader, most int) (*told, error) {
	t := new(told)
	lines := bufio.NewReaderSize(r, 1<<16)
	for {
		line, err := readLine(lines, most)
		if errors.Is(err, io.EOF) && t.head != nil {
			return t, nil
		}
		if err != nil && t.head != nil {
			return nil, err
		}
		if err != nil {
			return nil, fmt.Errorf("line 1: not the head of a journal: %w", err)
		}
		rec, err := parseRecord(line)
		if err == nil {
			err = t.take(rec)
		}
		if err != nil && t.head == nil {
			return nil, fmt.Errorf("line 1: not the head of a journal: %w", err)
		}
		if err != nil {
			return t, nil
		}
		t.size += int64(len(line)) + 1
	}
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

// readLine reads a line that ends; the error is io.EOF if none does.
func readLine(r *bufio.Reader, most int) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > most:
			return nil, io.EOF
		}
	}
}

var errOrder = errors.New("does not follow")

// take takes in a record that follows those before it.
func (t *told) take(r record) error {
	members := 0
	for _, given := range []bool{r.Head != nil, r.Event != nil, r.Step != nil, r.Measured != nil, r.Compared != nil, r.Ready != nil} {
		if given {
			members++
		}
	}
	if members != 1 || (r.Head != nil) != (t.head == nil) {
		return errOrder
	}
	switch {
	case r.Head != nil:
		if err := r.Head.check(); err != nil {
			return err
		}
		n, err := r.Head.parameters()
		if err != nil {
			return err
		}
		t.head, t.parameters = r.Head, n
	case r.Event != nil:
		if r.Event.Index != len(t.events) {
			return errOrder
		}
		t.events = append(t.events, *r.Event)
	case r.Step != nil:
		if w := r.Step.W; w != nil {
			if len(w) != t.parameters || !finite(w) || r.Step.Number <= t.step {
				return errOrder
			}
			t.step, t.weights = r.Step.Number, w
		}
		if r.Step.Norm != nil && len(t.norms) < mostNorms {
			t.norms = append(t.norms, *r.Step.Norm)
		}
	case r.Measured != nil:
		t.measured = r.Measured
	case r.Compared != nil:
		t.compared = r.Compared
	case r.Ready != nil:
		t.ready = r.Ready
	}
	return nil
}

// check checks of a head what making files of it does not.
func (h *head) check() error {
	switch {
	case h.Journal != journalVersion:
		return fmt.Errorf("journal = %d: must be %d, the only version this program reads", h.Journal, journalVersion)
	case h.Fit < 1:
		return fmt.Errorf("fit = %d: must be >= 1", h.Fit)
	case h.Schema == nil || h.Schema.Dim() == 0:
		return errors.New("schema: must be given")
	}
	return nil
}

// resume opens a journal to go on after what it tells.
func (f *folder) resume(t *told) (*journal, error) {
	file, err := f.disk.Append(f.journalFile())
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(t.size); err != nil {
		file.Close()
		return nil, err
	}
	return &journal{file: file, size: t.size, now: time.Now}, nil
}

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
