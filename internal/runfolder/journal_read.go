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
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// mostLine is the largest size of a journal's line, in bytes. The longest lines are heads with a wide schema
// and steps with an iterate of many weights.
const mostLine = 64 << 20

// journalContent is the content of a run's journal, as far as it was read.
type journalContent struct {
	head *train.Header
	// parameters is the number of weights that the run trains (train.Header.Parameters).
	parameters int
	events     []account.Event
	norms      []float64
	step       int // number of the step after which weights is the iterate
	weights    []float64
	base       *optimize.Base
	ranked     bool // the schema was refined
	simpler    bool // a simpler family took the place of the head's when the base rate was released
	measured   *optimize.Measured
	compared   *optimize.Compared
	ready      *ready

	form lineFormat
	// lines is the number of lines that were read, and size the number of their bytes. unended is true if the
	// last line lacks its newline. rest is the number of bytes of an incomplete line after them, which a
	// killed process left and which is ignored.
	lines   int
	size    int64
	rest    int64
	unended bool
	// damaged is the number of the first line that was damaged or cut off after it was written. It is 0 if no
	// damage was found. Later lines may be lost too, so the journal may lack charges.
	damaged int
}

// proves reports whether the journal has every event whose answer the algorithm got. Only then may a store of
// budgets be told the run's charge from this journal. Journals of version 1 prove nothing: they have neither
// checksums nor an end by which a cut could be detected.
func (t *journalContent) proves() bool { return t.form.numbered && t.damaged == 0 }

// tells reads the journal of a fit. It returns fs.ErrNotExist if the fit has no journal.
func (f *folder) tells() (*journalContent, error) {
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

// readJournal reads a journal's lines up to the first line that is malformed, longer than most bytes, or not
// a possible successor of the lines before it. A crash may leave anything in place of lines that were not yet
// on stable storage, but all lines before these are whole. The first line, the head, was written before the
// budget was reserved, so a journal without it is an error.
//
// A killed process leaves whole lines, possibly the beginning of one more, and then the zeros of the reserved
// space. Anything else after the whole lines is damage: a line with a newline that is not a valid record,
// bytes other than zeros after zeros, or a file that ends without zeros because it was cut off. After the
// line that says that the fit's files are ready, an end without zeros is no damage. In a journal of version
// 1, which has no checksums, damage is not detected.
func readJournal(r io.Reader, most int) (*journalContent, error) {
	t := new(journalContent)
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

// read parses the next line of the journal, given without its newline, and adds its record to t. It returns
// an error if the line is malformed, has a wrong number, or does not follow from the lines before it.
func (t *journalContent) read(line []byte) error {
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
// first line of this text, and end the way in which it ends. If a killed process can have left the text, or
// the journal is of version 1, judge sets t.rest. Otherwise it sets t.damaged and searches the rest of the
// text for the line that says that the files are ready.
func (t *journalContent) judge(line []byte, end lineEnd, rest *bufio.Reader, most int) (err error) {
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

// torn reports whether a killed process can have left the text after the whole lines. It returns true if line
// can be the beginning of the next line and only zeros follow it. It also returns true if there is no text
// and the journal says that the files are ready.
func (t *journalContent) torn(line []byte, end lineEnd) bool {
	if end == missing && len(line) == 0 {
		return t.ready != nil
	}
	if end != padded {
		return false
	}
	if n := len(line); n > 0 {
		if _, _, err := t.form.read(line[:n-1]); err == nil {
			return false // the line is whole, but another byte replaces its newline
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
	padded           // the line ends in zeros that go on to the end of the file
	holed            // the line ends in zeros that other bytes follow, or is longer than allowed
	missing          // the line ends with the file, without a newline
)

// readLine reads a line, which ends at a newline, at a zero byte or at the end of the file. It returns the
// line without the newline or zeros, and the way in which it ends. If the line is longer than most bytes,
// readLine returns no line and holed.
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

// readZeros reads zeros. It returns padded if they go on to the end of the file, and holed if another byte
// follows.
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

// take adds the record r to t. It returns an error if the record does not follow from the records before it.
func (t *journalContent) take(r record) error {
	members := 0
	for _, given := range []bool{r.Head != nil, r.Event != nil, r.Step != nil, r.Found != nil, r.Begun != nil, r.Measured != nil,
		r.Compared != nil, r.Refined != nil, r.Ready != nil} {
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
	case r.Found != nil:
		return t.found(*r.Found)
	case r.Begun != nil:
		// A run begins once, and before its first step.
		if t.base != nil || t.weights != nil || len(t.norms) > 0 {
			return errOrder
		}
		t.base, t.head.Plan = &r.Begun.Base, r.Begun.Plan
		if r.Begun.Family != nil {
			t.head.Family, t.head.Features, t.simpler = r.Begun.Family, "", true
			if r.Begun.Family.Name == train.Lines && !t.ranked {
				t.head.Ranks = nil // none are released: runs of two classes begin before (earlier versions, after them)
			}
		}
	case r.Measured != nil:
		t.measured = r.Measured
	case r.Compared != nil:
		t.compared = r.Compared
	case r.Refined != nil:
		// The weights of steps are weights of the features of one schema.
		if t.weights != nil || r.Refined.Refines(t.head.Schema) != nil {
			return errOrder
		}
		// Only a head that announces ranks, or whose target is a time, has another schema, and the number of weights is the
		// head's, unless a simpler family took the place of the head's.
		if !t.simpler && (len(t.head.Ranks) == 0 && r.Refined.Target().Event == "" ||
			r.Refined.Dim() != t.head.Schema.Dim()) {
			return errOrder
		}
		t.head.Schema, t.ranked = r.Refined, true
		n, err := t.head.Parameters()
		t.parameters = n
		return err
	case r.Ready != nil:
		t.ready = r.Ready
	}
	return nil
}

// found takes the effects that the first stage of a fit found: the steps that follow train weights of their
// features, too. Until the first of them the weights are those of the first stage.
func (t *journalContent) found(e dataset.Effects) error {
	h, err := t.head.Found(e)
	if err != nil {
		return err
	}
	n, err := h.Parameters()
	if err != nil {
		return err
	}
	if t.weights != nil {
		t.weights = h.Begins(t.weights)
	}
	t.head, t.parameters = &h, n
	return nil
}

// check returns an error if a journal's head has an unknown version, a fit number below 1, or no schema. The
// other members are checked when the model and the certificate are made from the head.
func check(h *train.Header) error {
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

// resume opens the journal for writing after the lines that were read into t. The next line that is written
// overwrites the text after these lines.
func (f *folder) resume(t *journalContent) (*journal, error) {
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

func (j *journal) goOn(t *journalContent) error {
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
