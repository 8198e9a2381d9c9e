package runfolder

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"time"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/train"
)

// mostLine is the largest size of a journal's line, in bytes. Lines are this long if a head has a wide schema
// or an iterate has many weights.
const mostLine = 64 << 20

// told is the content of a run's journal, as far as it was read.
type told struct {
	head *train.Head
	// parameters is the number of weights of the model that the journal's head describes.
	parameters int
	events     []account.Event
	norms      []float64
	step       int // whose iterate weights is
	weights    []float64
	measured   *optimize.Measured
	compared   *optimize.Compared
	ready      *ready

	form form
	// lines is the number of lines that were read, and size the number of their bytes. unended is true if the
	// last line lacks its newline. rest is the number of bytes of one more, incomplete line that a killed process
	// left. Its content is ignored.
	lines   int
	size    int64
	rest    int64
	unended bool
	// damaged is the number of the first line that cannot have been left so by a killed process. It is 0 if there
	// is none. Later lines may be lost too, so the journal may lack charges.
	damaged int
}

// proves reports whether the journal has every event whose answer was handed out. Only then may a store of
// budgets be told the run's charge from this journal. Journals of version 1 prove nothing: they have neither
// checksums nor an end by which a cut could be detected.
func (t *told) proves() bool { return t.form.numbered && t.damaged == 0 }

// tells reads the journal of a fit. It returns fs.ErrNotExist if there is none.
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

// readJournal reads lines up to the first that is malformed or does not follow from the lines before it. A
// crash may leave anything in place of lines that were not yet on stable storage, but all lines before these
// are whole. The first line, the head, was written before the budget was reserved, so a journal without it is
// an error.
//
// A kill leaves whole lines, at most the beginning of one more, and then the zeros of the reserved space.
// Anything else after the lines is damage. There are three cases: a line with a newline that is no record,
// other bytes after zeros, and a file that ends without zeros, because it was cut off. Damage no longer
// matters after the line that says that the fit's files are ready.
func readJournal(r io.Reader, most int) (*told, error) {
	t := new(told)
	lines := bufio.NewReaderSize(r, 1<<16)
	for {
		line, end, err := readLine(lines, most)
		if err != nil && t.head != nil {
			return nil, err
		}
		if err == nil && (end == newlined || end == padded && t.form.numbered) {
			err = t.read(line)
		} else if err == nil {
			err = errLine
		}
		switch {
		case t.head == nil:
			return nil, fmt.Errorf("line 1: not the head of a journal: %w", err)
		case err == nil && end == newlined:
			t.size++ // its newline
		case err == nil:
			t.unended = true
			return t, nil
		default:
			return t, t.judge(line, end, lines, most)
		}
	}
}

// read parses the next line of the journal, given without its newline, and adds its record to the
// content.
func (t *told) read(line []byte) error {
	if t.head == nil {
		t.form.numbered = bytes.HasPrefix(line, []byte(lineOpen))
	}
	number, r, err := t.form.read(line)
	if err == nil && t.form.numbered && number != t.lines+1 {
		err = errOrder
	}
	if err == nil {
		err = t.take(r)
	}
	if err != nil {
		return err
	}
	t.lines++
	t.size += int64(len(line))
	return nil
}

// judge decides whether a killed process can have left the text after the lines that were read. line is the
// first line of this text. If it cannot, judge notes the damage and searches the text for the line that says
// that the files are ready.
func (t *told) judge(line []byte, end lineEnd, rest *bufio.Reader, most int) (err error) {
	if !t.form.numbered || t.torn(line, end) {
		t.rest = int64(len(line))
		return nil
	}
	t.damaged = t.lines + 1
	for err == nil && end != padded && end != missing {
		if line, end, err = readLine(rest, most); err != nil {
			break
		}
		if _, r, bad := t.form.read(line); bad == nil && r.Ready != nil {
			t.ready = r.Ready
		}
	}
	return err
}

// torn reports whether the text after the whole lines is as a killed process leaves it. This holds if line
// can be the beginning of the next line and zeros follow it. It also holds if there is no text and the files
// are ready.
func (t *told) torn(line []byte, end lineEnd) bool {
	if end == missing && len(line) == 0 {
		return t.ready != nil
	}
	if end != padded {
		return false
	}
	if n := len(line); n > 0 {
		if _, _, err := t.form.read(line[:n-1]); err == nil {
			return false // the line is whole, but its newline is another byte
		}
	}
	begin := fmt.Sprintf("%s%d%s", lineOpen, t.lines+1, sumOpen)
	n := min(len(begin), len(line))
	return string(line[:n]) == begin[:n]
}

// lineEnd is the way in which a line ends.
type lineEnd int

const (
	newlined lineEnd = iota
	padded           // in zeros, to the end of the file
	holed            // the line ends in zeros that other bytes follow, or is longer than allowed
	missing          // with the file
)

// readLine reads up to a newline, a zero or the end of the file.
func readLine(r *bufio.Reader, most int) (line []byte, end lineEnd, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, 0, err
		}
		if zero := bytes.IndexByte(part, 0); zero >= 0 {
			line, part = append(line, part[:zero]...), part[zero:]
			if end = holed; err != nil && onlyZeros(part) {
				end, err = readZeros(r)
				return line, end, err
			}
			return line, end, nil
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], newlined, nil
		case err == io.EOF:
			return line, missing, nil
		case len(line) > most:
			return nil, holed, nil
		}
	}
}

// readZeros reads zeros to the end of the file, or up to the first other byte.
func readZeros(r *bufio.Reader) (lineEnd, error) {
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case !onlyZeros(part):
			return holed, nil
		case err == io.EOF:
			return padded, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return 0, err
		}
	}
}

func onlyZeros(text []byte) bool { return len(bytes.Trim(text, "\x00")) == 0 }

var errOrder = errors.New("does not follow")

// take adds a record to the journal's content. It returns an error if the record does not follow from the
// records before it.
func (t *told) take(r record) error {
	members := 0
	for _, given := range []bool{r.Head != nil, r.Event != nil, r.Step != nil, r.Measured != nil, r.Compared != nil,
		r.Ready != nil} {
		if given {
			members++
		}
	}
	if members != 1 || (r.Head != nil) != (t.head == nil) {
		return errOrder
	}
	switch {
	case r.Head != nil:
		if err := check(r.Head); err != nil {
			return err
		}
		n, err := r.Head.Parameters()
		if err != nil {
			return err
		}
		if numbered := r.Head.Journal > 1; numbered != t.form.numbered {
			return fmt.Errorf("journal = %d: its lines must have numbers and checksums from version 2 on, and not before",
				r.Head.Journal)
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
		if r.Step.Norm != nil && len(t.norms) < train.MostNorms {
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

// check tests three members of a journal's head, the facts that are known before the first release: its version,
// the number of its fit and its schema. The other members are tested when the model and the certificate are made
// from the head.
func check(h *train.Head) error {
	switch {
	case h.Journal != 1 && h.Journal != train.JournalVersion:
		return fmt.Errorf("journal = %d: must be 1 or %d, the versions this program reads", h.Journal, train.JournalVersion)
	case h.Fit < 1:
		return fmt.Errorf("fit = %d: must be >= 1", h.Fit)
	case h.Schema == nil || h.Schema.Dim() == 0:
		return errors.New("schema: must be given")
	}
	return nil
}

// resume opens a journal for writing after the lines that were read. The next line overwrites the text after
// these lines.
func (f *folder) resume(t *told) (*journal, error) {
	file, err := f.disk.Update(f.journalFile())
	if err != nil {
		return nil, err
	}
	j := &journal{file: file, form: t.form, lines: t.lines, size: t.size, now: time.Now}
	if err := j.goOn(t); err != nil {
		file.Close()
		return nil, err
	}
	return j, nil
}

func (j *journal) goOn(t *told) error {
	if !t.form.numbered || t.damaged > 0 {
		return j.file.Truncate(t.size)
	}
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	j.reserved = info.Size()
	if t.unended {
		if _, err := j.file.WriteAt(newline, j.size); err != nil {
			return err
		}
		j.size++
	}
	j.torn = t.rest
	return nil
}

func finite(w []float64) bool {
	var sum float64
	for _, x := range w {
		sum += math.Abs(x)
	}
	return !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
