package train

import (
	"errors"
	"testing"
)

// fullLog is a log that cannot be written.
type fullLog struct {
	unstored
	err error
}

func (l fullLog) Write(Line) error { return l.err }

// TestASchemaThatIsNotWritten tests that a schema which follows from a release is used only if the log has it: an error of the log,
// and one before, are returned with the configuration as it was.
func TestASchemaThatIsNotWritten(t *testing.T) {
	c := config(t, 300, "{loss: logistic}", "{loss: logistic}")
	before, full := errors.New("no answer"), errors.New("no space")
	for _, e := range []struct{ earlier, log, want error }{{before, nil, before}, {nil, full, full}, {before, full, before}, {nil, nil, nil}} {
		var f Fitted
		got, h, err := c.refined(&recorder{log: fullLog{err: e.log}}, &f, Header{Fit: 7}, c.Schema, e.earlier)
		if !errors.Is(err, e.want) || h.Fit != 7 {
			t.Errorf("%+v: %v, head %+v", e, err, h)
		}
		if e.want != nil && (got != c || h.Schema != nil || f.Schema != nil) {
			t.Errorf("%+v: another configuration, or head with %v", e, h.Schema)
		}
		if e.want == nil && (h.Schema != c.Schema || f.Schema != c.Schema || got.Schema != c.Schema) {
			t.Errorf("%+v: without the schema", e)
		}
	}
}
