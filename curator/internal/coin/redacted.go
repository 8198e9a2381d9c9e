package coin

import (
	"fmt"
	"io"
	"log/slog"
)

const redaction = "coin.Secret{redacted}"

// redacted, embedded in a type, gives it methods that print a fixed text. Its receivers are values,
// so that the methods exist on a Secret as well as on a *Secret.
type redacted struct{}

var (
	_ fmt.Formatter  = Secret{}
	_ slog.LogValuer = Secret{}
)

// Format writes a fixed text for every verb and flag.
func (redacted) Format(f fmt.State, _ rune) { io.WriteString(f, redaction) }

// String returns a fixed text.
func (redacted) String() string { return redaction }

// GoString returns a fixed text.
func (redacted) GoString() string { return redaction }

// LogValue returns a fixed text.
func (redacted) LogValue() slog.Value { return slog.StringValue(redaction) }

// MarshalText returns a fixed text.
func (redacted) MarshalText() ([]byte, error) { return []byte(redaction), nil }

// MarshalJSON returns a fixed text as a JSON string.
func (redacted) MarshalJSON() ([]byte, error) { return []byte(`"` + redaction + `"`), nil }
