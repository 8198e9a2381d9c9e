package dataset

import (
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/vector"
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
		b.WriteString("interactions: [" + strings.Join(vector.Map(raw.Interactions, yamltext.Texts), ", ") + "]\n")
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
	var f flow
	switch {
	case r.Number != nil:
		f.add("number", yamlNumbers(r.Number))
	case r.Date != nil:
		f.add("date", "["+strings.Join(r.Date, ", ")+"]")
	case r.Category != nil:
		f.add("category", yamltext.Texts(r.Category))
	case r.Public != nil:
		f.add("public", yamltext.Texts(r.Public))
	case r.Hash != nil:
		f.add("hash", strconv.Itoa(*r.Hash))
	default:
		return Ignore.String()
	}
	f.text("transform", r.Transform)
	f.text("layout", r.Layout)
	f.text("missing", r.Missing)
	if r.Curve != nil {
		f.add("curve", r.Curve.yaml())
	}
	f.text("monotone", r.Monotone)
	return f.String()
}

func (r rawTarget) yaml() string {
	var f flow
	if r.Event == "" {
		f.text("column", r.Column)
	} else {
		f.text("time", r.Column)
		f.text("event", r.Event)
		f.text("entry", r.Entry)
		f.text("grouped", string(r.Grouped))
		f.text("changing", r.Changing)
		f.add("cuts", yamlNumbers(r.Cuts))
	}
	if r.Number != nil {
		f.add("number", yamlNumbers(r.Number))
	} else {
		f.add("classes", yamltext.Texts(r.Classes))
	}
	f.text("weight", r.Weight)
	if r.Share != nil {
		f.add("share", yamlNumbers(r.Share))
	}
	for key, e := range map[string]*rawExposure{"exposure": r.Exposure, "offset": r.Offset} { // one of them at most
		if e != nil {
			f.add(key, "{column: "+yamltext.Text(e.Column)+", number: "+yamlNumbers(e.Number)+"}")
		}
	}
	return f.String()
}

// flow is a mapping of YAML in the flow style, such as {number: [0, 1], curve: auto}.
type flow []string

func (f *flow) add(key, value string) { *f = append(*f, key+": "+value) }

// text adds a text, unless it is empty.
func (f *flow) text(key, value string) {
	if value != "" {
		f.add(key, yamltext.Text(value))
	}
}

func (f flow) String() string { return "{" + strings.Join(f, ", ") + "}" }

func yamlNumbers(values []float64) string {
	return "[" + strings.Join(vector.Map(values, showFloat), ", ") + "]"
}
