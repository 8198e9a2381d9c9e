package coin

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// shown returns all texts that the standard library can make of a value.
func shown(t *testing.T, v any) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%08b", "%t"} {
		texts[verb] = fmt.Sprintf(verb, v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	texts["json"] = string(b)
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"slog text": func(w *bytes.Buffer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"slog json": func(w *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	} {
		var w bytes.Buffer
		slog.New(handler(&w)).Info("m", "v", v, slog.Group("g", "v", v))
		texts[name] = w.String()
	}
	return texts
}

func TestSecretPrintsAFixedText(t *testing.T) {
	s := Simulated(testKey)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%#x", "%10.3f", "%c"} {
		if got := fmt.Sprintf(verb, s); got != redaction {
			t.Errorf("%s: %s", verb, got)
		}
	}
	if s.String() != redaction || s.GoString() != redaction || s.LogValue().String() != redaction {
		t.Error("String, GoString or LogValue tells more")
	}
	if b, err := json.Marshal(s); err != nil || string(b) != `"`+redaction+`"` {
		t.Errorf("json: %s, %v", b, err)
	}
	if b, err := xml.Marshal(s); err != nil || string(b) != "<Secret>"+redaction+"</Secret>" {
		t.Errorf("xml: %s, %v", b, err)
	}
	if err := gob.NewEncoder(new(bytes.Buffer)).Encode(s); err == nil {
		t.Error("gob encodes a Secret")
	}
}

// TestSecretWithinOthers tests that a Secret prints as the fixed text if it is in an exported
// field, embedded, in a slice, a map or an interface, or a value instead of a pointer.
func TestSecretWithinOthers(t *testing.T) {
	s := Simulated(testKey)
	values := map[string]any{
		"pointer":   struct{ S *Secret }{s},
		"embedded":  struct{ *Secret }{s},
		"slice":     []*Secret{s},
		"map":       map[string]*Secret{"s": s},
		"interface": struct{ S any }{s},
		"nested":    &struct{ T struct{ S *Secret } }{struct{ S *Secret }{s}},
		"value":     &struct{ S Secret }{S: Secret{open: s.open}},
	}
	for name, v := range values {
		for how, text := range shown(t, v) {
			if !strings.Contains(text, redaction) {
				t.Errorf("%s, %s: %s", name, how, text)
			}
			checkNothingTold(t, name+", "+how, text, s)
		}
	}
}

// TestSecretBehindUnexportedFields tests that a Secret in an unexported field shows nothing. In an
// unexported field fmt calls no methods, and for a verb that does not fit the type it follows
// pointers.
func TestSecretBehindUnexportedFields(t *testing.T) {
	type byPointer struct{ s *Secret }
	type byValue struct{ s Secret }
	s := Simulated(testKey)
	for name, v := range map[string]any{
		"pointer": byPointer{s},
		"value":   &byValue{s: Secret{open: s.open}},
	} {
		for how, text := range shown(t, v) {
			checkNothingTold(t, name+", "+how, text, s)
			if len(text) > 200 {
				t.Errorf("%s, %s: suspiciously long: %s", name, how, text)
			}
		}
	}
}

// checkNothingTold fails if a text contains the key or the first words of s, in decimal or
// hexadecimal.
func checkNothingTold(t *testing.T, name, text string, s *Secret) {
	t.Helper()
	text = strings.ToLower(text)
	again := Simulated(testKey)
	words := []uint64{again.Uint64(), again.Uint64(), again.Uint64()}
	for i := 0; i < len(testKey); i += 8 {
		words = append(words, binary.LittleEndian.Uint64(testKey[i:]))
	}
	for _, w := range words {
		for _, told := range []string{fmt.Sprint(w), fmt.Sprintf("%x", w)} {
			if strings.Contains(text, told) {
				t.Errorf("%s tells %s: %s", name, told, text)
			}
		}
	}
	for _, told := range []string{hex.EncodeToString(testKey[:]), string(testKey[:]), fmt.Sprint(testKey)} {
		if strings.Contains(text, strings.ToLower(told)) {
			t.Errorf("%s tells the key: %s", name, text)
		}
	}
}
