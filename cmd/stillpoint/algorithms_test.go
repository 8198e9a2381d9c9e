package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestAlgorithmsAreExplained tests that the command algorithms shows every algorithm, in the list
// and alone, with all its settings and their meaning.
func TestAlgorithmsAreExplained(t *testing.T) {
	show := func(args ...string) (string, int) {
		var out bytes.Buffer
		code := run(context.Background(), append([]string{"algorithms"}, args...), &console{out: &out, err: &out})
		return out.String(), code
	}
	all, code := show()
	if code != 0 {
		t.Fatal(all)
	}
	for _, name := range append(train.Algorithms(), "selected") {
		one, code := show(name)
		if code != 0 || !strings.HasPrefix(one, name) || !strings.Contains(all, one) {
			t.Errorf("%s: exit code %d, or not as in the list:\n%s", name, code, one)
		}
		keys := train.SettingsOf(name)
		if name == "selected" {
			keys = train.SelectionSettings()
		}
		said := strings.Join(strings.Fields(one), " ")
		for i, s := range train.HelpOf(name) {
			if s.Key != keys[i] || !strings.Contains(said, s.Key+": "+s.Type+" "+s.Doc) {
				t.Errorf("%s: train.%s is not explained:\n%s", name, keys[i], one)
			}
		}
		if len(keys) == 0 || len(keys) != len(train.HelpOf(name)) {
			t.Errorf("%s: takes %v, of which %d are explained", name, keys, len(train.HelpOf(name)))
		}
	}
	if out, code := show("sgd"); code != exitFailed ||
		!strings.Contains(out, `algorithm = "sgd": must be one of [auto gd `) {
		t.Errorf("exit code %d: %s", code, out)
	}
}
