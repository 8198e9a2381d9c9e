package experiment

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestTheFileIsDocumented tests that the example in docs/how-to/algorithms.md is a valid
// specification, also with its commented lines, and names every key of the format.
func TestTheFileIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/how-to/algorithms.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatal("docs/how-to/algorithms.md shows no specification")
	}
	shown := string(m[1])
	whole := regexp.MustCompile(`(?m)^# (\w+:)`).ReplaceAllString(shown, "$1")
	for _, s := range []string{shown, whole} {
		if _, err := ParseSpec([]byte(s)); err != nil {
			t.Errorf("%v:\n%s", err, s)
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[Spec](), reflect.TypeFor[Algorithm](), reflect.TypeFor[Scale]()} {
		for i := range of.NumField() {
			if key := of.Field(i).Tag.Get("yaml"); !strings.Contains(shown, key+":") {
				t.Errorf("docs/how-to/algorithms.md says nothing of %s, a key of %s", key, of.Name())
			}
		}
	}
}
