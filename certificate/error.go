package certificate

import (
	"errors"
	"fmt"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// These are the kinds of failure, for [errors.Is]. Errors from opening and reading a file are returned
// unchanged.
var (
	// ErrMalformed means that the file is not a certificate of a known version, or breaks the rules of its
	// format.
	ErrMalformed = errors.New("not a valid certificate")
	// ErrAltered means that the checksum does not match the rest of the file.
	ErrAltered = errors.New("altered since it was written")
	// ErrUnsound means that the claim does not follow from the recorded events, or that a certificate
	// cannot be made.
	ErrUnsound = errors.New("unsound")
	// ErrModel means that the model file is not the certified model file.
	ErrModel = errors.New("not the certified model")
)

// fault is an error that names a field of the certificate, its value and the rule that the value
// breaks.
type fault struct {
	kind  error
	field string
	value string // empty if the message shows no value
	rule  string
}

func (e *fault) Error() string {
	where := "certificate"
	if e.field != "" {
		where += ": " + shorten(safetext.Text(e.field))
	}
	if e.value != "" {
		where += " = " + shorten(safetext.Text(e.value))
	}
	return where + ": " + safetext.Text(e.rule)
}

func (e *fault) Unwrap() error { return e.kind }

func malformed(field, value, rule string) error {
	return &fault{ErrMalformed, field, value, rule}
}

func unsound(field string, value any, rule string, args ...any) error {
	return &fault{ErrUnsound, field, fmt.Sprint(value), fmt.Sprintf(rule, args...)}
}

// shorten cuts a text for an error message to 80 bytes and three dots.
func shorten(value string) string {
	const most = 80
	if len(value) <= most {
		return value
	}
	return value[:most] + "..."
}
