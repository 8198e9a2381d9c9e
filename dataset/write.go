package dataset

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/printable"
)

// MarshalYAML returns the schema as the content of a schema: section, one column on a line. A schema with Effects
// is an error: they come from a fit, not from a configuration.
// UnmarshalYAML of the result gives an equal schema, with bounds of the same bits.
func (s *Schema) MarshalYAML() ([]byte, error) {
	raw, err := s.raw()
	if err != nil {
		return nil, err
	}
	if raw.Effects != nil {
		return nil, &fieldError{"effects", "", "have no written form: a fit finds them"}
	}
	var b strings.Builder
	b.WriteString("columns:\n")
	for _, c := range raw.Columns {
		b.WriteString("  " + yamlText(c.Name) + ": " + c.yaml() + "\n")
	}
	b.WriteString("target: " + raw.Target.yaml() + "\n")
	if u := raw.Unit; u != nil {
		b.WriteString("unit: {column: " + yamlText(u.Column) + ", rows: " + strconv.Itoa(u.Rows) + "}\n")
	}
	if len(raw.Interactions) > 0 {
		pairs := make([]string, len(raw.Interactions))
		for i, pair := range raw.Interactions {
			pairs[i] = yamlTexts(pair)
		}
		b.WriteString("interactions: [" + strings.Join(pairs, ", ") + "]\n")
	}
	if raw.Where != "" {
		b.WriteString("where: " + yamlText(raw.Where) + "\n")
	}
	b.WriteString(MissingLine(raw.Missing) + "\n")
	if raw.Norm != 0 {
		b.WriteString("norm: " + showFloat(raw.Norm) + "\n")
	}
	return []byte(b.String()), nil
}

// Line returns the column as a line of a schema's columns: section, without indent and line feed.
func (c Column) Line() string { return yamlText(c.Name) + ": " + c.raw().yaml() }

// Line returns the target as a line of a schema.
func (t Target) Line() string { return "target: " + t.raw().yaml() }

// MissingLine returns the list of cells that mean missing, as a line of a schema.
func MissingLine(markers []string) string { return "missing: " + yamlTexts(markers) }

func (r rawColumn) yaml() string {
	more := ""
	for _, s := range [][2]string{{"transform", r.Transform}, {"layout", r.Layout}, {"missing", r.Missing}} {
		if s[1] != "" {
			more += ", " + s[0] + ": " + yamlText(s[1])
		}
	}
	if r.Curve != nil {
		more += ", curve: " + r.Curve.yaml()
	}
	if r.Monotone != "" {
		more += ", monotone: " + r.Monotone
	}
	switch {
	case r.Number != nil:
		return "{number: " + yamlNumbers(r.Number) + more + "}"
	case r.Date != nil:
		return "{date: [" + strings.Join(r.Date, ", ") + "]" + more + "}"
	case r.Category != nil:
		return "{category: " + yamlTexts(r.Category) + "}"
	case r.Public != nil:
		return "{public: " + yamlTexts(r.Public) + "}"
	case r.Hash != nil:
		return "{hash: " + strconv.Itoa(*r.Hash) + "}"
	}
	return Ignore.String()
}

func (r rawTarget) yaml() string {
	text := "{column: " + yamlText(r.Column)
	if r.Number != nil {
		text += ", number: " + yamlNumbers(r.Number)
	} else {
		text += ", classes: " + yamlTexts(r.Classes)
	}
	if r.Weight != "" {
		text += ", weight: " + yamlText(r.Weight)
	}
	if r.Share != nil {
		text += ", share: " + yamlNumbers(r.Share)
	}
	if e := r.Exposure; e != nil {
		text += ", exposure: {column: " + yamlText(e.Column) + ", number: " + yamlNumbers(e.Number) + "}"
	}
	return text + "}"
}

func yamlTexts(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = yamlText(v)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func yamlNumbers(values []float64) string {
	shown := make([]string, len(values))
	for i, v := range values {
		shown[i] = showFloat(v)
	}
	return "[" + strings.Join(shown, ", ") + "]"
}

// plain matches texts that need no quotes in YAML. It matches no YAML number. It matches the YAML words for
// null, true and false, which yamlText excludes.
var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// QuoteYAML returns a text as a YAML scalar in double quotes.
func QuoteYAML(s string) string {
	// A JSON string is a valid YAML double-quoted string.
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		panic(err) // encoding a string cannot fail
	}
	return string(printable.JSON([]byte(strings.TrimSuffix(b.String(), "\n"))))
}

func yamlText(s string) string {
	if plain.MatchString(s) {
		switch strings.ToLower(s) {
		case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		default:
			return s
		}
	}
	return QuoteYAML(s)
}
