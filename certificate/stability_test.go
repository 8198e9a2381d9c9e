package certificate

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// stableParams returns the parameters of a run in which the guarantees of two releases depend on
// stability: gradient steps that do not move two points further apart.
func stableParams(t testing.TB) stated {
	t.Helper()
	p := params(t)
	for _, loss := range []string{"huber(0.5)", "huber(0.5)"} {
		e, err := account.StabilityEvent("stable sgd", loss, 3, .25, 4)
		if err != nil {
			t.Fatal(err)
		}
		e.Index, e.Relation = len(p.Events), account.ReplaceOne
		p.Events = append(p.Events, e)
	}
	return p
}

// TestStabilityIsToldAsTrusted tests releases whose guarantee depends on the stability of a loss
// (gradient steps that do not move two points further apart). Their events must name this basis and
// the loss. The certificate's list of trusted assumptions, and the report of its verification, name
// the assumption once.
func TestStabilityIsToldAsTrusted(t *testing.T) {
	c := mustNew(t, stableParams(t))
	want := `the loss huber(0.5) is convex and as smooth as it declares (basis "stability")`
	if got := c.Trusted(); !slices.Equal(got, []string{"smoothness of the loss", "the clock", want}) {
		t.Errorf("trusted: %q", got)
	}
	if !bytes.Contains(c.text, []byte("\"basis\": \"stability\",\n      \"loss\": \"huber(0.5)\"")) {
		t.Errorf("no basis and loss in\n%s", c.text)
	}
	r, err := c.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Stable != 2 || !slices.Contains(r.Trusted, want) {
		t.Errorf("report: %+v", r)
	}
	for _, text := range []string{"2 of 7 releases", "huber(0.5) is convex and as smooth as it declares", "TRUSTED"} {
		if !strings.Contains(r.String(), text) {
			t.Errorf("no %q in\n%s", text, r)
		}
	}
	again, err := Parse(c.text)
	if err != nil || !slices.Equal(again.Events(), c.Events()) {
		t.Errorf("read back: %+v, %v", again.Events(), err)
	}
	if r, err := mustNew(t, params(t)).Verify(t.Context()); err != nil || r.Stable != 0 ||
		strings.Contains(r.String(), "stability") {
		t.Errorf("a run without: %+v, %v", r, err)
	}
}

// TestUntoldStabilityIsUnsound: Verify refuses a file that omits an assumption which its events
// need, or whose events have a basis that they cannot have. The checksums are recomputed.
func TestUntoldStabilityIsUnsound(t *testing.T) {
	text := string(mustNew(t, stableParams(t)).text)
	for name, c := range map[string]struct{ old, new, want string }{
		"not listed": {",\n    \"the loss huber(0.5) is convex and as smooth as it declares (basis \\\"stability\\\")\"",
			"", "trusted = 2: must contain"},
		"another loss":  {`"loss": "huber(0.5)"`, `"loss": "huber(0.25)"`, "trusted = 3: must contain"},
		"unknown basis": {`"basis": "stability"`, `"basis": "luck"`, `basis = "luck"`},
		"no basis":      {"\"basis\": \"stability\",\n      ", "", "must be absent without basis"},
		"no loss given": {",\n      \"loss\": \"huber(0.5)\"", "", "must name the loss"},
		"everyone":      {"\"cohort\": 3", "\"cohort\": 0", "must not be that of everyone"},
		"add-or-remove": {`"replace-one"`, `"add-or-remove"`, "relation = add-or-remove"},
	} {
		altered := strings.ReplaceAll(text, c.old, c.new)
		if altered == text {
			t.Fatalf("%s: nothing to alter", name)
		}
		_, err := verdict(seal([]byte(altered[:strings.LastIndex(altered, checksumStart)])))
		if !errors.Is(err, ErrUnsound) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want an error about %q", name, err, c.want)
		}
	}
}

func TestEveryAlterationOfStabilityIsRefused(t *testing.T) {
	c := mustNew(t, stableParams(t))
	root := parseNode(t, c.text)
	for _, a := range some(root.alterations("")) {
		a.do()
		data := root.file(t)
		a.undo()
		if _, err := verdict(data); err == nil {
			t.Errorf("%s: accepted", a.name)
		}
	}
}
