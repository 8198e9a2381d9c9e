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
		said := strings.Join(strings.Fields(one), " ")
		for _, s := range train.HelpOf(name) {
			if s.Doc == "" || !strings.Contains(said, s.Key+": "+s.Type+" "+s.Doc) {
				t.Errorf("%s: train.%s is not explained:\n%s", name, s.Key, one)
			}
		}
		if len(train.HelpOf(name)) == 0 {
			t.Errorf("%s: no setting is explained", name)
		}
	}
	if out, code := show("sgd"); code != exitFailed ||
		!strings.Contains(out, `algorithm = "sgd": must be one of [auto gd `) {
		t.Errorf("exit code %d: %s", code, out)
	}
}
