package report

import (
	"encoding/xml"
	"fmt"
	"testing"
)

// TestEscapedTextStaysInItsAttribute tests escaped text in single quotes, in double quotes and between two
// tags. A parser must read the text back unchanged and find one attribute.
func TestEscapedTextStaysInItsAttribute(t *testing.T) {
	for _, s := range hostile {
		for _, quote := range []string{`"`, `'`} {
			var got struct {
				XMLName    xml.Name
				Attributes []xml.Attr `xml:",any,attr"`
				Text       string     `xml:",chardata"`
			}
			text := fmt.Sprintf("<x y=%s%s%[1]s>%[2]s</x>", quote, escape(s))
			if err := xml.Unmarshal([]byte(text), &got); err != nil {
				t.Errorf("%.60q: %v", text, err)
				continue
			}
			if want := oneLine(s); got.Text != want || len(got.Attributes) != 1 || got.Attributes[0].Value != want {
				t.Errorf("%.60q: read back as %.60q and %.60q", s, got.Attributes, got.Text)
			}
		}
	}
}
