package runfolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/holder"
)

// intent is the content of a file in a fit's folder, a note that the fit asks a store of budgets for a
// reservation. The file is on stable storage before the request, and is removed when the store knows how much
// of the reservation was used. Every reservation of a killed fit in a store therefore has an intent in the
// fit's folder. There are two cases:
//
//   - the folder's ledger lacks the run: nothing was released, since the ledger has every fit, on stable
//     storage, before the fit's first release;
//   - the ledger has the run: the fit's journal or certificate states the releases.
//
// Both are true of the folder in which the fit ran, and not of a copy or of files that were put back. The intent
// therefore says which folder it is of.
type intent struct {
	// Version is the version of the file's format.
	Version int    `json:"intent"`
	Fit     int    `json:"fit"`
	Store   string `json:"store"`
	Dataset string `json:"dataset"`
	Run     string `json:"run"`
	// Place is the folder in which the fit runs, and Ledger the lines that its ledger had before. Both are nil
	// in files of version 1.
	Place  *holder.Place `json:"place,omitempty"`
	Ledger *beginning    `json:"ledger,omitempty"`
	// Sum is the SHA-256, in hexadecimal, of the file's JSON text with an empty Sum.
	Sum string `json:"sum"`
}

const (
	intentVersion = 2
	// mostIntent is the largest size, in bytes, of an intent's file (the note of a reservation in a
	// store of budgets). The file has an address and two names.
	mostIntent = 1 << 16
	// intentFile is the part of an intent's temporary name that names the kind of file (see partial). An
	// intent's file has the temporary name until it is complete.
	intentFile = "intent"
)

func (f *folder) intentFile(fit int) string { return f.file(fmt.Sprintf("intent-%d.json", fit)) }

// isIntent reports whether a file's name is the name of an intent, the note of a reservation in a store of
// budgets. It also returns the fit's number, which is part of the name.
func isIntent(name string) (fit int, ok bool) {
	number, ok := strings.CutPrefix(name, "intent-")
	number, also := strings.CutSuffix(number, ".json")
	fit, err := strconv.Atoi(number)
	return fit, ok && also && err == nil && fit > 0 && strconv.Itoa(fit) == number
}

// text returns the bytes of the intent's file, with the checksum.
func (i intent) text() ([]byte, error) {
	i.Sum = ""
	bare, err := json.Marshal(i)
	if err != nil {
		return nil, err
	}
	i.Sum = sha(bare)
	text, err := json.Marshal(i)
	return append(text, '\n'), err
}

// parseIntent reads the text of an intent's file as the method text writes it. It returns an error if the
// text is not exactly what the method text writes, or if it is of another fit.
func parseIntent(text []byte, fit int) (i intent, err error) {
	if err := json.Unmarshal(text, &i); err == nil && i.Version > 0 && i.Version <= intentVersion && i.Fit == fit {
		if again, err := i.text(); err == nil && bytes.Equal(again, text) {
			return i, nil
		}
	}
	return intent{}, errors.New("is damaged: the run it names stays charged in full in its store; " +
		"stillpoint budget show lists runs that have not ended, stillpoint budget settle RUN --in-full ends one, and with " +
		"this file taken away the folder can be used")
}

// intend writes an intent, the note of a reservation in a store of budgets, to stable storage,
// whole or not at all.
func (f *folder) intend(i intent) error {
	ledger, err := f.text(f.path)
	if err != nil {
		return err
	}
	here := f.here(nil)
	i.Version, i.Fit, i.Place, i.Ledger = intentVersion, f.fit, &here, linesOf(ledger)
	text, err := i.text()
	if err != nil {
		return err
	}
	file, err := f.newPartial(intentFile)
	if err != nil {
		return err
	}
	err = durable.Fill(file, text)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = f.disk.Rename(f.partial(intentFile), f.intentFile(f.fit))
	}
	if err != nil {
		_ = f.removeIfThere(f.partial(intentFile))
		return err
	}
	return f.disk.SyncFolder(f.path)
}

// forget removes a fit's intent, the note of its reservation in a store of budgets. It is called when the
// store knows the fit's final charge. A crash may undo the removal. The intent is then processed a second
// time, which changes nothing in the store.
func (f *folder) forget(fit int) error { return f.removeIfThere(f.intentFile(fit)) }

// intents returns the intents in the folder (notes of reservations in stores of budgets), in the order of
// their fits' numbers. A damaged intent is an error.
func (f *folder) intents() ([]intent, error) {
	entries, err := f.disk.ReadDir(f.path)
	if err != nil {
		return nil, err
	}
	var all []intent
	for _, e := range entries {
		fit, ok := isIntent(e.Name())
		if !ok {
			continue
		}
		text, err := durable.ReadAll(f.disk, f.file(e.Name()), mostIntent)
		if err != nil {
			return nil, err
		}
		i, err := parseIntent(text, fit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.file(e.Name()), err)
		}
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b intent) int { return a.Fit - b.Fit })
	return all, nil
}
