package certificate

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestFiltersAreTexts: a filter whose column or value package dataset would refuse is refused
// by New, and in a file whose checksum was recomputed.
func TestFiltersAreTexts(t *testing.T) {
	good := account.Filter{Column: "split", Value: "train"}
	for text, ok := range map[string]bool{
		"x": true, "two words": true, "a=b": true, "größe": true,
		"": false, " ": false, " x": false, "x ": false, "x\t": false, "\nx": false, "\u00a0x": false, "x\u2003": false,
		"\xff": false,
	} {
		for field, f := range map[string]account.Filter{"column": {Column: text, Value: good.Value},
			"value": {Column: good.Column, Value: text}} {
			p := params(t)
			p.Filter = f
			if _, err := p.certificate(); (err == nil) != ok || !ok && !errors.Is(err, ErrUnsound) {
				t.Errorf("new with %s %q: %v", field, text, err)
			}
			p.Filter = good
			root := parseNode(t, mustNew(t, p).text)
			root.get("filter").set(field, strconv.Quote(text))
			if text == "\xff" {
				root.get("filter").set(field, "\"\xff\"")
			}
			if _, err := verdict(root.sealed(t)); (err == nil) != ok {
				t.Errorf("a file with %s %q: %v", field, text, err)
			}
		}
	}
}
