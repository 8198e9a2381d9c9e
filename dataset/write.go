package dataset

import (
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/yamltext"
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
	if raw.Target.Ignore {
		return nil, &fieldError{"target", "", "must be given: a schema without one has no written form"}
	}
	var b strings.Builder
	b.WriteString("columns:\n")
	for _, c := range raw.Columns {
		b.WriteString("  " + yamltext.Text(c.Name) + ": " + c.yaml() + "\n")
	}
	b.WriteString("target: " + raw.Target.yaml() + "\n")
	if u := raw.Unit; u != nil {
		b.WriteString("unit: {column: " + yamltext.Text(u.Column) + ", rows: " + strconv.Itoa(u.Rows) + "}\n")
	}
	if len(raw.Interactions) > 0 {
		pairs := make([]string, len(raw.Interactions))
		for i, pair := range raw.Interactions {
			pairs[i] = yamltext.Texts(pair)
		}
		b.WriteString("interactions: [" + strings.Join(pairs, ", ") + "]\n")
	}
	if raw.Where != "" {
		b.WriteString("where: " + yamltext.Text(raw.Where) + "\n")
	}
	b.WriteString("missing: " + yamltext.Texts(raw.Missing) + "\n")
	if raw.Norm != 0 {
		b.WriteString("norm: " + showFloat(raw.Norm) + "\n")
	}
	return []byte(b.String()), nil
}

// Line returns the column as a line of a schema's columns: section, without indent and line feed.
func (c Column) Line() string { return yamltext.Text(c.Name) + ": " + c.raw().yaml() }

// Line returns the target as a line of a schema.
func (t Target) Line() string { return "target: " + t.raw().yaml() }

func (r rawColumn) yaml() string {
	more := ""
	for _, s := range [][2]string{{"transform", r.Transform}, {"layout", r.Layout}, {"missing", r.Missing}} {
		if s[1] != "" {
			more += ", " + s[0] + ": " + yamltext.Text(s[1])
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
		return "{category: " + yamltext.Texts(r.Category) + "}"
	case r.Public != nil:
		return "{public: " + yamltext.Texts(r.Public) + "}"
	case r.Hash != nil:
		return "{hash: " + strconv.Itoa(*r.Hash) + "}"
	}
	return Ignore.String()
}

func (r rawTarget) yaml() string {
	text := "{column: " + yamltext.Text(r.Column)
	if r.Event != "" {
		text = "{time: " + yamltext.Text(r.Column) + ", event: " + yamltext.Text(r.Event)
		if r.Entry != "" {
			text += ", entry: " + yamltext.Text(r.Entry)
		}
		if r.Grouped != "" {
			text += ", grouped: " + string(r.Grouped)
		}
		if r.Changing != "" {
			text += ", changing: " + yamltext.Text(r.Changing)
		}
		text += ", cuts: " + yamlNumbers(r.Cuts)
	}
	if r.Number != nil {
		text += ", number: " + yamlNumbers(r.Number)
	} else {
		text += ", classes: " + yamltext.Texts(r.Classes)
	}
	if r.Weight != "" {
		text += ", weight: " + yamltext.Text(r.Weight)
	}
	if r.Share != nil {
		text += ", share: " + yamlNumbers(r.Share)
	}
	for _, of := range []struct {
		key string
		*rawExposure
	}{{"exposure", r.Exposure}, {"offset", r.Offset}} {
		if of.rawExposure != nil {
			text += ", " + of.key + ": {column: " + yamltext.Text(of.Column) + ", number: " + yamlNumbers(of.Number) + "}"
		}
	}
	return text + "}"
}

func yamlNumbers(values []float64) string {
	shown := make([]string, len(values))
	for i, v := range values {
		shown[i] = showFloat(v)
	}
	return "[" + strings.Join(shown, ", ") + "]"
}
