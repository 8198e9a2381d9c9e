package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// checkJSON returns an error unless data is exactly one JSON value in UTF-8, without null and without a
// repeated key. Package json alone would accept null for any type and would accept repeated keys. Keys that
// differ only in case count as repeated, since package json does not distinguish them.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("must be UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	var value json.RawMessage
	if err := decoder.Decode(&value); err != nil {
		return fmt.Errorf("must be JSON: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("must be one JSON value with nothing after it")
	}
	return checkValue("", json.NewDecoder(bytes.NewReader(value)))
}

func checkValue(field string, decoder *json.Decoder) error {
	token, err := decoder.Token()
	if _, big := errors.AsType[*json.UnmarshalTypeError](err); big {
		return fmt.Errorf("%s: must be a number in the range of float64", field)
	}
	if err != nil {
		return fmt.Errorf("%s: must be JSON: %w", field, err)
	}
	switch token {
	case nil:
		return fmt.Errorf("%s = null: must have a value", field)
	case json.Delim('{'):
		seen := make(map[string]bool)
		for decoder.More() {
			token, err := decoder.Token()
			if err != nil {
				return fmt.Errorf("%s: must be JSON: %w", field, err)
			}
			key := token.(string) // the decoder accepts only strings as keys
			child := below(field, "."+safetext.Text(key))
			if seen[fold(key)] {
				return fmt.Errorf("%s: is given twice", child)
			}
			seen[fold(key)] = true
			if err := checkValue(child, decoder); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for i := 0; decoder.More(); i++ {
			if err := checkValue(below(field, "["+strconv.Itoa(i)+"]"), decoder); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	if _, err := decoder.Token(); err != nil { // the closing delimiter
		return fmt.Errorf("%s: must be JSON: %w", field, err)
	}
	return nil
}

// mostPath is about the largest number of bytes of a field's path in errors. The limit is needed because a
// path is built for every value of a file, keys may be long, and nesting may be deep.
const mostPath = 200

// below joins field and part to the path of a value, for errors. It cuts a part that is longer than mostPath
// bytes. If field is already longer than mostPath bytes, below returns field unchanged.
func below(field, part string) string {
	if len(part) > mostPath {
		part = part[:mostPath] + "..."
	}
	if len(field) > mostPath {
		return field
	}
	return strings.TrimPrefix(field+part, ".")
}

// fold maps keys that differ only in case, which package json does not distinguish, to the same text.
func fold(key string) string { return strings.ToLower(strings.ToUpper(key)) }

// checkMembers returns an error if data is not a JSON object or lacks one of the keys in exactly this
// spelling. field is the object's path for errors; "" for the whole file.
func checkMembers(field string, data json.RawMessage, keys ...string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("%smust be an object", prefix(field, ": "))
	}
	for _, key := range keys {
		if _, given := members[key]; !given {
			return fmt.Errorf("%s%s: is missing", prefix(field, "."), key)
		}
	}
	return nil
}

func prefix(field, separator string) string {
	if field == "" {
		return ""
	}
	return field + separator
}

// Write writes the model to the file named path. It replaces an existing file. It returns the SHA-256 of the
// file in lower-case hexadecimal. The new file appears at path with its whole content or not at all.
func (m *Model) Write(path string) (digest string, err error) {
	data, err := m.Bytes()
	if err != nil {
		return "", err
	}
	if err := durable.WriteFile(path, data); err != nil {
		return "", fmt.Errorf("model: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// Bytes returns the content of the file that Write writes. The zero Model gives an error.
func (m *Model) Bytes() ([]byte, error) {
	if m.schema == nil {
		return nil, errors.New("model: the zero Model has no file")
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(document{
		Format:      format,
		Version:     m.version(),
		Software:    m.software,
		Complete:    m.complete,
		Privacy:     m.privacy,
		Loss:        m.loss.Name(),
		Regularizer: m.regularizer.Name(),
		Schema:      m.schema,
		CSV:         m.csv,
		Features:    m.schema.Features(),
		Weights:     m.weights,
		Clamped:     m.clamped,
		Warnings:    m.warnings,
		Inference:   m.written,
	})
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return b.Bytes(), nil
}
