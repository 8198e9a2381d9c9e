package dataset

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/stillpoint-dp/stillpoint/internal/autobounds"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// placeholder stands for the values that must be filled in by hand in a drafted schema.
const placeholder = "???"

// UnmarshalYAML reads the content of a schema: section (see the package comment) and checks every
// rule of [New]. Unknown and repeated keys, anchors and aliases are errors. Errors are [yaml.Error]
// and carry the position. On error s is unchanged.
//
// A file that does not have the form of a schema may be a table, or contain one. Errors about the form therefore give
// the position and the rule, and quote nothing. Errors about a schema that has the right form quote names and values.
func (s *Schema) UnmarshalYAML(node ast.Node) error {
	d := yamlDecoder{at: make(map[string]*token.Token)}
	decoded, err := d.schema(node)
	if err != nil {
		return d.locate(err, node)
	}
	*s = *decoded
	return nil
}

// formError returns the error for a node that does not have the form of a schema.
func formError(node ast.Node, field, rule string) error {
	section := "schema"
	for _, s := range []string{"columns", "target"} {
		if strings.HasPrefix(field, s) {
			section = s
		}
	}
	var at *token.Token
	if node != nil {
		at = node.GetToken()
	}
	return located("dataset: "+section+": "+rule, at)
}

// located makes an error at a token's position. It copies only the position: the token has links to its
// neighbours, and the errors of package yaml would quote the text around it.
func located(message string, at *token.Token) error {
	place := new(token.Token)
	if at != nil {
		place.Position = at.Position
	}
	return &yaml.SyntaxError{Message: message, Token: place}
}

// yamlDecoder decodes a schema and records the position of each field, for error messages.
type yamlDecoder struct {
	at map[string]*token.Token
}

// locate adds to a fieldError the position of its field in the file, or of the field's nearest parent whose
// position is known. Any other error is returned unchanged.
func (d *yamlDecoder) locate(err error, root ast.Node) error {
	var fault *fieldError
	if !errors.As(err, &fault) {
		return err
	}
	for field := fault.field; ; {
		if tk, known := d.at[field]; known {
			return located(err.Error(), tk)
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			return located(err.Error(), root.GetToken())
		}
		field = field[:cut]
	}
}

func (d *yamlDecoder) schema(node ast.Node) (*Schema, error) {
	var raw rawSchema
	curves := false
	err := d.keys("schema", "", node, []key{
		{"columns", into(&raw.Columns, d.columns, "")},
		{"target", into(&raw.Target, d.target, "")},
		{"interactions", into(&raw.Interactions, list(d, d.texts), "")},
		{"curves", into(&curves, d.curves, "write auto or leave it out")},
		{"where", into(&raw.Where, d.text, "write it as column=value")},
		{"missing", into(&raw.Missing, d.texts, "")},
		{"norm", into(&raw.Norm, number, "write a norm that is publicly known to be seldom exceeded by much")},
		{"unit", into(&raw.Unit, d.unit, "")},
	})
	if err != nil {
		return nil, err
	}
	for i := range raw.Columns {
		if c := &raw.Columns[i]; curves && c.Curve == nil && (c.Number != nil || c.Date != nil) {
			c.Curve = &rawCurve{knots: CurveAuto}
		}
	}
	if slices.ContainsFunc(raw.Columns, func(c rawColumn) bool { return c.File != "" }) {
		return raw.pending()
	}
	return raw.schema()
}

func (d *yamlDecoder) columns(field string, node ast.Node, _ string) (columns []rawColumn, err error) {
	err = d.mapping(field, "columns.", node, func(name, field string, _, value ast.Node) error {
		column, err := d.column(name, field, value)
		columns = append(columns, column)
		return err
	})
	return columns, err
}

func (d *yamlDecoder) column(name, field string, node ast.Node) (rawColumn, error) {
	raw := rawColumn{Name: name}
	if _, isMap := node.(ast.MapNode); !isMap {
		word, err := d.text(field, node, "write "+kindsOfColumns)
		if err != nil {
			return raw, err
		}
		if word != Ignore.String() {
			return raw, formError(node, field, "must be "+kindsOfColumns)
		}
		raw.Ignore = true
		return raw, nil
	}
	shown := safetext.Text(name)
	err := d.keys(field, field+".", node, []key{
		{"number", into(&raw.Number, d.bounds, "write the publicly known lower and upper bound of "+shown)},
		{"date", into(&raw.Date, d.dates, "write the publicly known first and last date of "+shown)},
		{"layout", into(&raw.Layout, d.text, "write how dates are written, such as %d.%m.%Y, or leave it out")},
		{"transform", into(&raw.Transform, d.text, "write log1p or leave it out")},
		{"missing", into(&raw.Missing, d.text, "write indicator or leave it out")},
		{"curve", into(&raw.Curve, d.curve, "")},
		{"monotone", into(&raw.Monotone, d.text, "write up or down or leave it out")},
		{"category", func(field string, value ast.Node) error { return d.category(&raw, field, value) }},
		{"reference", into(&raw.Reference, d.text,
			"write the value with which the others are compared, or leave it out")},
		{"hash", into(&raw.Hash, d.count, "write into how many buckets the values of "+shown+" fall")},
		{"public", into(&raw.Public, d.values,
			"write all values of "+shown+", which is known of every row to everybody")},
	})
	return raw, err
}

// curves decodes the schema's key curves:, whose only value is auto. The key has the effect of curve: auto
// for every number and date that has no key curve.
func (d *yamlDecoder) curves(field string, node ast.Node, todo string) (bool, error) {
	text, err := d.text(field, node, todo)
	if err == nil && text != auto {
		err = &fieldError{field, strconv.Quote(text), "must be auto; a number of knots is a column's (curve)"}
	}
	return true, err
}

// curve decodes a column's key curve: auto, none, a number of knots, or a list of knots.
func (d *yamlDecoder) curve(field string, node ast.Node, _ string) (*rawCurve, error) {
	if list, isList := node.(*ast.SequenceNode); isList {
		const todo = "write the knots, from bound to bound"
		if len(list.Values) > 0 {
			if _, err := number(field, list.Values[0], ""); err == nil {
				at, err := d.numbers(field, node, todo)
				return &rawCurve{at: at}, err
			}
		}
		dates, err := d.texts(field, node, todo)
		if err == nil && len(dates) == 0 {
			err = &fieldError{field, "[]", "must be auto, none, a number of knots or the knots"}
		}
		return &rawCurve{dates: dates}, err
	}
	switch text, _ := scalar(node); text {
	case auto:
		return &rawCurve{knots: CurveAuto}, nil
	case noCurve:
		return &rawCurve{knots: CurveNone}, nil
	}
	n, err := d.count(field, node, "write auto, none or a number of knots")
	if err == nil && *n <= 0 {
		err = &fieldError{field, strconv.Itoa(*n), "must be auto, none, a number of knots or the knots"}
	}
	return &rawCurve{knots: *n}, err
}

const kindsOfColumns = "{number: [low, high]}, {date: [first, last]}, {category: [values]}, {hash: buckets}, " +
	"{public: [values]} or ignore"

func (d *yamlDecoder) target(field string, node ast.Node, _ string) (raw rawTarget, err error) {
	err = d.keys(field, "target.", node, []key{
		{"column", into(&raw.Column, d.text, "write the name of the column to be predicted")},
		{"classes", into(&raw.Classes, d.values, "write the negative and the positive class, or more than two")},
		{"number", into(&raw.Number, d.bounds, "write the publicly known lower and upper bound of the target")},
		{"weight", into(&raw.Weight, d.text, "write the name of the column of weights")},
		{"exposure", into(&raw.Exposure, d.exposure, "exposure")},
		{"offset", into(&raw.Offset, d.exposure, "offset")},
		{"share", into(&raw.Share, d.oneOrMore,
			"write the publicly known share of the class, of each class, or the mean of the target")},
		{"time", func(field string, value ast.Node) (err error) {
			raw.timed = true
			raw.Column, err = d.text(field, value, "write the name of the column of times")
			return err
		}},
		{"event", into(&raw.Event, d.text, "write the name of the column that says whether the event occurred")},
		{"entry", into(&raw.Entry, d.text, "write the name of the column of entry times")},
		{"cuts", func(field string, value ast.Node) (err error) {
			if text, _ := scalar(value); text != auto { // New fills in auto
				raw.Cuts, err = d.numbers(field, value, "write the ends of the intervals, or auto")
			}
			return err
		}},
		{"grouped", func(field string, value ast.Node) error {
			text, err := d.text(field, value, "write true, logit or false")
			if raw.Grouped = link(text); text == "true" {
				raw.Grouped = cloglog
			} else if text == "false" {
				raw.Grouped = ""
			} else if err == nil && text != cloglog && text != logit {
				err = &fieldError{field, strconv.Quote(text), groupedRule}
			}
			return err
		}},
		{"changing", into(&raw.Changing, d.text, "write the name of the column whose hazard ratios change")},
	})
	return raw, err
}

// exposure decodes the exposure or the offset of a target, as which of says.
func (d *yamlDecoder) exposure(field string, node ast.Node, of string) (*rawExposure, error) {
	raw := new(rawExposure)
	return raw, d.keys(field, field+".", node, []key{
		{"column", into(&raw.Column, d.text, "write the name of the column of "+of+"s")},
		{"number", into(&raw.Number, d.numbers, "write the publicly known least and largest "+of)},
	})
}

func (d *yamlDecoder) unit(field string, node ast.Node, _ string) (*rawUnit, error) {
	raw, rows := new(rawUnit), new(int)
	err := d.keys(field, "unit.", node, []key{
		{"column", into(&raw.Column, d.text, "write the name of the column that says whose row it is")},
		{"rows", into(&rows, d.count, "write how many rows of a unit are used at most")},
	})
	raw.Rows = *rows
	return raw, err
}

// key is a key of a mapping, with the reader of its value.
type key struct {
	name string
	read func(field string, value ast.Node) error
}

// reader decodes a value. todo says what to write in place of a placeholder.
type reader[T any] func(field string, node ast.Node, todo string) (T, error)

// into returns the reader of a key's value that stores it in to.
func into[T any](to *T, read reader[T], todo string) func(string, ast.Node) error {
	return func(field string, value ast.Node) (err error) {
		*to, err = read(field, value, todo)
		return err
	}
}

// keys reads the values of a mapping's keys, which must be among the known ones.
func (d *yamlDecoder) keys(field, prefix string, node ast.Node, known []key) error {
	return d.mapping(field, prefix, node, func(name, field string, at, value ast.Node) error {
		var names []string
		for _, k := range known {
			if k.name == name {
				return k.read(field, value)
			}
			names = append(names, k.name)
		}
		return formError(at, field, safetext.Unknown(name, names))
	})
}

// mapping calls visit for each key of a mapping, in order. It returns an error if node is not a
// mapping or repeats a key.
func (d *yamlDecoder) mapping(field, prefix string, node ast.Node,
	visit func(name, field string, key, value ast.Node) error) error {
	m, isMap := node.(ast.MapNode)
	if !isMap {
		return formError(node, field, "must be a mapping, not "+describe(node))
	}
	for entries := m.MapRange(); entries.Next(); {
		key, isScalar := scalar(entries.Key())
		if !isScalar {
			return formError(entries.Key(), field, "a key must be a plain name, not "+describe(entries.Key()))
		}
		child := prefix + key
		if _, repeated := d.at[child]; repeated {
			return formError(entries.Key(), field, "a key is given twice")
		}
		d.at[child] = entries.Key().GetToken()
		if err := visit(key, child, entries.Key(), entries.Value()); err != nil {
			return err
		}
	}
	return nil
}

// sequence calls visit for each item of a sequence, in order. It returns an error if node is not a
// sequence.
func (d *yamlDecoder) sequence(field string, node ast.Node, visit func(field string, value ast.Node) error) error {
	list, isList := node.(*ast.SequenceNode)
	if !isList {
		return formError(node, field, "must be a list, such as [a, b], not "+describe(node))
	}
	for i, item := range list.Values {
		child := itemField(field, i)
		d.at[child] = item.GetToken()
		if err := visit(child, item); err != nil {
			return err
		}
	}
	return nil
}

// list returns the decoder of a sequence whose items read decodes.
func list[T any](d *yamlDecoder, read reader[T]) reader[[]T] {
	return func(field string, node ast.Node, todo string) ([]T, error) {
		values := []T{}
		err := d.sequence(field, node, func(field string, value ast.Node) error {
			item, err := read(field, value, todo)
			values = append(values, item)
			return err
		})
		return values, err
	}
}

func (d *yamlDecoder) texts(field string, node ast.Node, todo string) ([]string, error) {
	return list(d, d.text)(field, node, todo)
}

func (d *yamlDecoder) text(field string, node ast.Node, todo string) (string, error) {
	text, isScalar := scalar(node)
	if !isScalar {
		return "", formError(node, field, "must be a text or a number, not "+describe(node))
	}
	return text, unfilled(field, text, todo)
}

func (d *yamlDecoder) numbers(field string, node ast.Node, todo string) ([]float64, error) {
	return list(d, number)(field, node, todo)
}

// oneOrMore decodes a number or a list of numbers.
func (d *yamlDecoder) oneOrMore(field string, node ast.Node, todo string) ([]float64, error) {
	if _, list := node.(*ast.SequenceNode); list {
		return d.numbers(field, node, todo)
	}
	x, err := number(field, node, todo)
	return []float64{x}, err
}

// bounds decodes the two bounds of a number, or auto, which leaves them to a description of the table.
func (d *yamlDecoder) bounds(field string, node ast.Node, todo string) ([]float64, error) {
	if word, _ := scalar(node); word == auto {
		return []float64{-autobounds.Number, autobounds.Number}, nil
	}
	return d.numbers(field, node, todo)
}

// dates is bounds for dates.
func (d *yamlDecoder) dates(field string, node ast.Node, todo string) ([]string, error) {
	if word, _ := scalar(node); word == auto {
		return []string{ShowDay(autobounds.First), ShowDay(autobounds.Last)}, nil
	}
	return d.texts(field, node, todo)
}

func (d *yamlDecoder) count(field string, node ast.Node, todo string) (*int, error) {
	x, err := number(field, node, todo)
	if err == nil && (x != math.Trunc(x) || math.Abs(x) > 1<<30) {
		err = formError(node, field, "must be a whole number")
	}
	n := int(x)
	return &n, err
}

func number(field string, node ast.Node, todo string) (float64, error) {
	text, isScalar := scalar(node)
	if isScalar {
		if err := unfilled(field, text, todo); err != nil {
			return 0, err
		}
	}
	switch n := node.(type) {
	case *ast.IntegerNode:
		switch v := n.Value.(type) {
		case int64:
			return float64(v), nil
		case uint64:
			return float64(v), nil
		}
	case *ast.FloatNode:
		return n.Value, nil
	case *ast.StringNode:
		// The YAML parser returns a number without a point, such as 1e6, as a text.
		x, err := strconv.ParseFloat(n.Value, 64)
		if n.GetToken().Type == token.StringType && err == nil {
			return x, nil
		}
	}
	return 0, formError(node, field, "must be a finite number")
}

// scalar returns the text of a string, number or truth value as it is written: 007, 1.0 and yes stay
// unchanged. ok is false for any other node.
func scalar(node ast.Node) (text string, ok bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func unfilled(field, text, todo string) error {
	if text != placeholder || todo == "" {
		return nil
	}
	return &fieldError{field, text, "is still a placeholder; " + todo}
}

// describe returns the kind of a node in words, without its content.
func describe(node ast.Node) string {
	switch n := node.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode:
		return "an anchor or alias"
	case ast.MapNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.StringNode:
		if n.GetToken().Type != token.StringType {
			return "a text in quotes"
		}
	}
	return "a text"
}

var errZero = errors.New("dataset: the zero Schema describes no table")
