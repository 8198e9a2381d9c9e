package budget

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Entry is the contents of a row of a chain. It has a single valid encoding, so that a row has one
// text and one hash.
type Entry struct {
	// Number counts the rows of a chain from 1. The order of rows depends on it alone.
	Number int `json:"number"`
	// Kind is Created, Reserved, Settled or Closed.
	Kind    string `json:"kind"`
	Dataset string `json:"dataset"`
	// Time is the store's clock. Nothing depends on it.
	Time string `json:"time"`
	// Salt is a random text in the first row. It makes the hashes of two chains with the same
	// contents differ.
	Salt string `json:"salt,omitempty"`
	// Cap is the dataset's cap, in the first row.
	Cap *Cap `json:"cap,omitempty"`
	// Run is the id of a reservation. The store draws it, and it is used once.
	Run string `json:"run,omitempty"`
	// Label describes the purpose of a run in public words.
	Label string `json:"label,omitempty"`
	// Law is the law of a reservation.
	Law *Law `json:"law,omitempty"`
	// Cost is the cost of a reservation.
	Cost *Cost `json:"cost,omitempty"`
	// Charged is in a settlement: the charge of the run's ledger at its end, in units of mu^2 under
	// the run's own relation.
	Charged *float64 `json:"charged,omitempty"`
}

// Kinds of entries.
const (
	Created  = "created"
	Reserved = "reserved"
	Settled  = "settled"
	Closed   = "closed"
)

// genesis is hashed in place of a hash before the first row.
const genesis = "stillpoint budget 1"

// chained returns the hash of a row with the given text after the row with hash before.
func chained(before, text string) string {
	if before == "" {
		before = genesis
	}
	sum := sha256.Sum256([]byte(before + "\n" + text))
	return hex.EncodeToString(sum[:])
}

// write returns the row of an entry that follows the row with hash before.
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

// parse reads a text that encode wrote. It refuses every other text, even one with the same
// meaning.
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

// check returns an error unless the entry has exactly the fields of its kind.
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
