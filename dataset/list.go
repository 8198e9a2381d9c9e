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

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// mostListed is the largest number of values in a range such as 1..12, and in a file that lists the
// values of a category.
const mostListed = 100_000

// mostBytes is the largest number of bytes of a value in a file that lists the values of a category.
const mostBytes = 1000

// span matches a range of whole numbers, such as 1..12, as YAML writes it without quotes.
var span = regexp.MustCompile(`^(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})$`)

// values decodes a list of values. An item 1..12 without quotes means each whole number from 1 to 12, and 01..12 means
// these numbers with two digits. A quoted "1..12" is an ordinary value. A single item 1..12 may replace the list.
func (d *yamlDecoder) values(field string, node ast.Node, todo string) (values []string, err error) {
	items := []ast.Node{node}
	if list, isList := node.(*ast.SequenceNode); isList {
		items, values = list.Values, []string{}
	} else if text, ok := scalar(node); !ok || !plainSpan(node, text) {
		return d.texts(field, node, todo) // returns an error, since node is not a list
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

// expanded returns the numbers of a range such as 1..12, as texts. rule is the rule that the range breaks,
// or "" if it breaks none.
func expanded(text string) (values []string, rule string) {
	ends := span.FindStringSubmatch(text)
	low, _ := strconv.Atoi(ends[1]) // span matches at most nine digits
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

// category decodes the values of a category, or the name of the file that lists the values.
func (d *yamlDecoder) category(raw *rawColumn, field string, node ast.Node) (err error) {
	todo := "write the publicly known values of " + safetext.Text(raw.Name)
	if _, isMap := node.(ast.MapNode); !isMap {
		raw.Category, err = d.values(field, node, todo)
		return err
	}
	err = d.keys(field, field+".", node,
		[]key{{"file", into(&raw.File, d.text, "write the name of a file of public values, one a line")}})
	if err == nil && raw.File == "" {
		err = formError(node, field, "must name a file")
	}
	return err
}

// pending returns a schema in which the values of some categories are still to be read from files. It
// checks all other rules now: for the check, a category in a file has the file's name as its only value.
// The schema cannot be used until [Schema.WithLists] has read the files.
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

// WithLists returns the schema with the values of the lists that its YAML form keeps in files. read
// returns the content of a file, which has one value on each line. White space around values and empty
// lines are ignored. The values are public and part of the schema: MarshalYAML and MarshalJSON write the
// values, not the file's name. A schema without files is returned as it is.
//
// Errors about a file quote nothing of its content.
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

// listed parses the values of a file. rule is the rule that the file breaks, with the number of the line, or
// "" if the file breaks none.
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

var errUnread = errors.New("dataset: the schema lists values in files, which nobody has read: a configuration's are " +
	"read with it (WithLists)")
