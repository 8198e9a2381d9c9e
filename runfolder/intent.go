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
)

// intent is what a fit keeps in its folder, on stable storage, from before a store of
// budgets is asked for a reservation until the store knows how much of it was used. So
// every reservation that a kill leaves behind in the store is known in a folder:
//
//   - the folder's ledger lacks the run: nothing was released, since the ledger has every
//     fit, on stable storage, before its first release;
//   - it has the run: what was released is in the fit's journal or its certificate.
type intent struct {
	// Version is that of the file.
	Version int    `json:"intent"`
	Fit     int    `json:"fit"`
	Store   string `json:"store"`
	Dataset string `json:"dataset"`
	Run     string `json:"run"`
	// Sum is a checksum over the rest.
	Sum string `json:"sum"`
}

const (
	intentVersion = 1
	// mostIntent is the most bytes of one: an address and two names.
	mostIntent = 1 << 16
	// intentFile is what an intent's name before it is seen is made of.
	intentFile = "intent"
)

func (f *folder) intentFile(fit int) string { return f.file(fmt.Sprintf("intent-%d.json", fit)) }

// isIntent reports whether a name is that of an intent, and of which fit.
func isIntent(name string) (fit int, ok bool) {
	number, ok := strings.CutPrefix(name, "intent-")
	number, also := strings.CutSuffix(number, ".json")
	fit, err := strconv.Atoi(number)
	return fit, ok && also && err == nil && fit > 0 && strconv.Itoa(fit) == number
}

// text is the file of an intent.
func (i intent) text() ([]byte, error) {
	i.Version, i.Sum = intentVersion, ""
	bare, err := json.Marshal(i)
	if err != nil {
		return nil, err
	}
	i.Sum = sha(bare)
	text, err := json.Marshal(i)
	return append(text, '\n'), err
}

// parseIntent reads what text wrote, and nothing else.
func parseIntent(text []byte, fit int) (i intent, err error) {
	if err := json.Unmarshal(text, &i); err == nil && i.Version == intentVersion && i.Fit == fit {
		if again, err := i.text(); err == nil && bytes.Equal(again, text) {
			return i, nil
		}
	}
	return intent{}, errors.New("is damaged: the run it names stays charged in full in its store; " +
		"stillpoint budget show lists runs that have not ended, and with this file taken away the folder can be used")
}

// intend puts an intent of the folder's fit on stable storage, whole or not at all.
func (f *folder) intend(i intent) error {
	i.Fit = f.fit
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

// forget takes the intent of a fit away: its store knows all there is to know. It may
// come back after a crash, and is then found to have been done.
func (f *folder) forget(fit int) error { return f.removeIfThere(f.intentFile(fit)) }

// intents returns those in the folder, by their fits.
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
