package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/stillpoint-dp/stillpoint/internal/printable"
)

// mostListed bounds the values of a range and of a file.
const mostListed = 100_000

// mostBytes bounds a value in a file: longer lines are no values of a category.
const mostBytes = 1000

// span matches a range of whole numbers, 1..12, as YAML has it without quotes.
var span = regexp.MustCompile(`^(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})$`)

// values reads a list of values, in which 1..12 stands for each whole number from 1 to
// 12, and 01..12 for as many of two digits. In quotes it is a value like any other.
func (d *yamlDecoder) values(field string, node ast.Node, todo string) (values []string, err error) {
	items := []ast.Node{node}
	if list, isList := node.(*ast.SequenceNode); isList {
		items, values = list.Values, []string{}
	} else if text, ok := scalar(node); !ok || !plainSpan(node, text) {
		return d.texts(field, node, todo) // which says what is wrong
	}
	for _, item := range items {
		at := itemField(field, len(values))
		d.at[at] = item.GetToken()
		text, err := d.text(at, item, todo)
		if err != nil {
			return values, err
		}
		if !plainSpan(item, text) {
			values = append(values, text)
			continue
		}
		numbers, rule := expanded(text)
		if rule != "" {
			return values, &fieldError{at, text, rule}
		}
		values = append(values, numbers...)
	}
	return values, nil
}

func plainSpan(node ast.Node, text string) bool {
	return node.GetToken().Type == token.StringType && span.MatchString(text)
}

// expanded lists the numbers of a range.
func expanded(text string) (values []string, rule string) {
	ends := span.FindStringSubmatch(text)
	low, _ := strconv.Atoi(ends[1]) // nine digits
	high, _ := strconv.Atoi(ends[2])
	width := 0
	for i, end := range ends[1:] {
		if other := ends[2-i]; len(end) > 1 && end[0] == '0' {
			if width = len(end); len(other) != width {
				return nil, "a number with zeros before it needs another as wide"
			}
		}
	}
	switch {
	case low > high:
		return nil, "the first number must be at most the last"
	case high-low >= mostListed:
		return nil, "must be at most " + strconv.Itoa(mostListed) + " values"
	}
	for n := low; n <= high; n++ {
		values = append(values, fmt.Sprintf("%0*d", width, n))
	}
	return values, ""
}

// category reads the values of a category, or where they are.
func (d *yamlDecoder) category(raw *rawColumn, field string, node ast.Node) (err error) {
	todo := "write the publicly known values of " + printable.Text(raw.Name)
	if _, isMap := node.(ast.MapNode); !isMap {
		raw.Category, err = d.values(field, node, todo)
		return err
	}
	err = d.mapping(field, field+".", node, func(name, field string, key, value ast.Node) (err error) {
		if name != "file" {
			return unknownKey(key, field, "file")
		}
		raw.File, err = d.text(field, value, "write the name of a file of public values, one a line")
		return err
	})
	if err == nil && raw.File == "" {
		err = formError(node, field, "must name a file")
	}
	return err
}

// pending returns the schema of a raw one whose lists are in files: it cannot be used
// until WithLists has read them, but what else is wrong with it is said now. The names of
// the files stand in for their values.
func (r rawSchema) pending() (*Schema, error) {
	standing := r
	standing.Columns = slices.Clone(r.Columns)
	for i := range standing.Columns {
		if c := &standing.Columns[i]; c.File != "" {
			c.Category = append(c.Category, strings.TrimSpace(c.File))
		}
	}
	if _, err := standing.schema(); err != nil {
		return nil, err
	}
	return &Schema{unread: &r}, nil
}

// WithLists returns the schema with the lists that its YAML form has in files, read by
// the given function: a value a line, without the white space around it, empty lines left
// out. They are public, and part of the schema from then on: its other forms have the
// values and not the file's name. A schema without files is returned as it is.
//
// Errors about a file quote nothing of it.
func (s *Schema) WithLists(read func(name string) ([]byte, error)) (*Schema, error) {
	if s == nil || s.unread == nil {
		return s, nil
	}
	raw := *s.unread
	raw.Columns = slices.Clone(raw.Columns)
	for i := range raw.Columns {
		c := &raw.Columns[i]
		if c.File == "" {
			continue
		}
		field := columnField(c.Name) + ".category.file"
		text, err := read(c.File)
		if err != nil {
			return nil, fmt.Errorf("dataset: %s: %w", field, err)
		}
		values, rule := listed(text, raw.Missing)
		if rule != "" {
			return nil, &fieldError{field, strconv.Quote(c.File), rule}
		}
		c.Category, c.File = values, ""
	}
	return raw.schema()
}

// listed reads the values of a file, or says which rule it breaks.
func listed(text []byte, missing []string) (values []string, rule string) {
	if !utf8.Valid(text) {
		return nil, "must be text in UTF-8, one value a line"
	}
	seen := map[string]bool{}
	n := 0
	for line := range strings.Lines(string(bytes.TrimPrefix(text, []byte("\ufeff")))) {
		n++
		v := strings.TrimSpace(line)
		if v == "" {
			continue
		}
		switch rule = valueRule(v, missing); {
		case rule != "":
		case len(v) > mostBytes:
			rule = fmt.Sprintf("must be one value, of at most %d bytes", mostBytes)
		case strings.ContainsFunc(v, unicode.IsControl):
			rule = "must be one value, without tabs and other control characters"
		case v == other:
			rule = "is other, which is already the feature of values that are not listed"
		case seen[v]:
			rule = "is listed twice"
		case len(values) == mostListed:
			rule = fmt.Sprintf("is beyond the %d values that a category may have in a file", mostListed)
		}
		if rule != "" {
			return nil, fmt.Sprintf("line %d: %s", n, rule)
		}
		seen[v] = true
		values = append(values, v)
	}
	if len(values) == 0 {
		return nil, "must list at least one value"
	}
	return values, ""
}

var errUnread = errors.New("dataset: the schema lists values in files, which nobody has read: a configuration's are read with it (WithLists)")
