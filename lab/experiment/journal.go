package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
)

// RunsFile is the name of the file of finished runs in a folder of results. Each line is a [Finished] in
// JSON.
const RunsFile = "runs.jsonl"

// mostBytes is the largest size, in bytes, of a file of finished runs that is read.
const mostBytes = 1 << 30

// journal appends finished runs to the file of results. Each line is written with one call, and is synced
// to stable storage before the next line is written. Opening the file removes an incomplete last line,
// which a crash may leave.
type journal struct {
	mu   sync.Mutex
	file *os.File
	// failed is the first error of a write or sync. A failed write may leave an incomplete line, so nothing is
	// appended after the first error.
	failed error
}

// openJournal opens or creates a folder's journal. Only one process may have it open.
func openJournal(folder string) (*journal, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, RunsFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	_, whole, err := readFinished(path)
	if err == nil {
		err = file.Truncate(whole)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = durable.System{}.SyncFolder(folder)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &journal{file: file}, nil
}

// append adds a finished run to the file. After a failed write or sync, this call and every later call
// returns the error.
func (j *journal) append(r Finished) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("experiment: %v: %w", r.Trial, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed == nil {
		_, j.failed = j.file.Write(append(line, '\n'))
	}
	if j.failed == nil {
		j.failed = j.file.Sync()
	}
	return j.failed
}

func (j *journal) close() error { return j.file.Close() }

// ReadFinished reads the finished runs from the file RunsFile in a folder of results. It returns no runs if
// the file does not exist. It ignores an incomplete last line.
func ReadFinished(folder string) ([]Finished, error) {
	runs, _, err := readFinished(filepath.Join(folder, RunsFile))
	return runs, err
}

// readFinished reads the finished runs in the file at path. It also returns the number of bytes in
// complete lines. A run that is recorded twice is returned once.
func readFinished(path string) (runs []Finished, whole int64, err error) {
	text, err := regularfile.Read(path, mostBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	seen := map[string]bool{}
	for number := 1; ; number++ {
		line, rest, ok := bytes.Cut(text, []byte{'\n'})
		if !ok {
			return runs, whole, nil
		}
		var r Finished
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			return nil, 0, fmt.Errorf("experiment: %s: line %d: %w", path, number, err)
		}
		if r.Key != r.Trial.Key() {
			return nil, 0, fmt.Errorf("experiment: %s: line %d: key %s: must be %s: the line was changed", path, number, r.Key,
				r.Trial.Key())
		}
		if !seen[r.Key] {
			seen[r.Key] = true
			runs = append(runs, r)
		}
		whole += int64(len(line)) + 1
		text = rest
	}
}
