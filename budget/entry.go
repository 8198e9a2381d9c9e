package budget

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Entry is what a row of a chain says. It is written in one way only, so that a row
// has one text and one hash.
type Entry struct {
	// Number counts the rows of a chain from 1. It alone orders them.
	Number int `json:"number"`
	// Kind is Created, Reserved, Settled or Closed.
	Kind    string `json:"kind"`
	Dataset string `json:"dataset"`
	// Time is the store's clock, for people.
	Time string `json:"time"`
	// Salt makes the hashes of two chains differ that say the same; of the first row.
	Salt string `json:"salt,omitempty"`
	// Cap is that of the dataset; of the first row.
	Cap *Cap `json:"cap,omitempty"`
	// Run is the id of a reservation, which is drawn by the store and used once.
	Run string `json:"run,omitempty"`
	// Label says what a run is for, in public words.
	Label string `json:"label,omitempty"`
	// Law and Cost are those of a reservation.
	Law  *Law  `json:"law,omitempty"`
	Cost *Cost `json:"cost,omitempty"`
	// Charged is the odometer's reading at the end of a run, in units of mu^2 under the
	// run's own relation; of a settlement.
	Charged *float64 `json:"charged,omitempty"`
}

// Kinds of entries.
const (
	Created  = "created"
	Reserved = "reserved"
	Settled  = "settled"
	Closed   = "closed"
)

// genesis is what the first row of a chain is hashed after.
const genesis = "stillpoint budget 1"

// chained returns the hash of a row after another's.
func chained(before, text string) string {
	if before == "" {
		before = genesis
	}
	sum := sha256.Sum256([]byte(before + "\n" + text))
	return hex.EncodeToString(sum[:])
}

// write returns the row of an entry that follows a hash.
func (e Entry) write(before string) (Row, error) {
	text, err := encode(e)
	if err != nil {
		return Row{}, err
	}
	return Row{Text: text, Hash: chained(before, text)}, nil
}

func encode(e Entry) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return "", fmt.Errorf("budget: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// parse reads a text that encode wrote; another that means the same is refused.
func parse(text string) (Entry, error) {
	var e Entry
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return e, errors.New("must be an entry")
	}
	again, err := encode(e)
	if err != nil {
		return e, err
	}
	if again != text {
		return e, errors.New("must be written as an entry is")
	}
	return e, e.check()
}

// check checks which members an entry of its kind has.
func (e *Entry) check() error {
	first, reserves, settles := e.Kind == Created, e.Kind == Reserved, e.Kind == Settled
	switch {
	case !first && !reserves && !settles && e.Kind != Closed:
		return fmt.Errorf("kind = %q: must be created, reserved, settled or closed", e.Kind)
	case first != (e.Cap != nil), first != (e.Salt != ""):
		return errors.New("cap, salt: must be given of the first row alone")
	case (reserves || settles) != (e.Run != ""):
		return errors.New("run: must be given of reservations and settlements alone")
	case reserves != (e.Law != nil), reserves != (e.Cost != nil), !reserves && e.Label != "":
		return errors.New("law, cost: must be given of reservations alone")
	case settles != (e.Charged != nil):
		return errors.New("charged: must be given of settlements alone")
	}
	if err := checkName("time", e.Time); err != nil {
		return err
	}
	if e.Run != "" {
		return checkName("run", e.Run)
	}
	return nil
}
