package budget

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// entry is the content of a row of a chain. Each entry has exactly one valid encoding, and therefore one
// text and one hash.
type entry struct {
	// Number is the number of the row in its chain, counted from 1. The order of rows depends on
	// Number alone.
	Number int `json:"number"`
	// Kind is one of the kinds below.
	Kind    string `json:"kind"`
	Dataset string `json:"dataset"`
	// Time is the time of the entry by the store's clock. No decision depends on it.
	Time string `json:"time"`
	// Salt is a random text in the first row. It makes the hashes of two chains different even if
	// the chains have the same contents. It is empty in other rows.
	Salt string `json:"salt,omitempty"`
	// Cap is the dataset's cap in the first row, and nil in other rows.
	Cap *Cap `json:"cap,omitempty"`
	// Run is the id of the run that a row reserves or settles. The store draws the id at random. A
	// run is reserved once. It may be settled more than once, each time with a larger charge.
	Run string `json:"run,omitempty"`
	// Label describes the purpose of a run in public words.
	Label string `json:"label,omitempty"`
	// Limit is the limit on the run's releases. It is set in a reservation only.
	Limit *Limit `json:"law,omitempty"`
	// Cost is the charge of the run to the cap. It is set in a reservation only.
	Cost *Cost `json:"cost,omitempty"`
	// Held is true in a reservation whose run has a [Lease] in the store.
	Held bool `json:"held,omitempty"`
	// Charged is set in a settlement only. It bounds the sum of the charges of all that the run
	// released, in units of mu^2 under the run's own relation. Further settlements of a run correct
	// it, each upwards.
	Charged *float64 `json:"charged,omitempty"`

	// lease is the lease that is stored together with the row. It is no part of the row.
	lease *Lease
}

// Kinds of entries.
const (
	kindCreated  = "created"
	kindReserved = "reserved"
	kindSettled  = "settled"
	kindClosed   = "closed"
)

// genesis is hashed together with the first row of a chain, in place of the hash of an earlier row.
const genesis = "stillpoint budget 1"

// chained returns the hash of a row, SHA-256 in hexadecimal. text is the row's text, and before is
// the hash of the row before it, or empty for the first row of a chain.
func chained(before, text string) string {
	if before == "" {
		before = genesis
	}
	sum := sha256.Sum256([]byte(before + "\n" + text))
	return hex.EncodeToString(sum[:])
}

// write encodes the entry as a row of a chain. before is the hash of the row before it.
func (e entry) write(before string) (Row, error) {
	text, err := encode(e)
	if err != nil {
		return Row{}, err
	}
	return Row{Text: text, Hash: chained(before, text)}, nil
}

func encode(e entry) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		return "", fmt.Errorf("budget: %w", err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// parse reads the text of a row that the method write produced. It returns an error for every other
// text, even if the text has the same meaning, and for an entry whose fields do not fit its kind.
func parse(text string) (entry, error) {
	var e entry
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

// check returns an error unless the entry has exactly the fields that its kind requires, and its
// time and its run's id are valid names (see checkName).
func (e *entry) check() error {
	first, reserves, settles := e.Kind == kindCreated, e.Kind == kindReserved, e.Kind == kindSettled
	switch {
	case !first && !reserves && !settles && e.Kind != kindClosed:
		return fmt.Errorf("kind = %q: must be created, reserved, settled or closed", e.Kind)
	case first != (e.Cap != nil), first != (e.Salt != ""):
		return errors.New("cap, salt: must be given of the first row alone")
	case (reserves || settles) != (e.Run != ""):
		return errors.New("run: must be given of reservations and settlements alone")
	case reserves != (e.Limit != nil), reserves != (e.Cost != nil), !reserves && (e.Label != "" || e.Held):
		return errors.New("law, cost, held: must be given of reservations alone")
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
