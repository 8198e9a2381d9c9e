// Package strictyaml reads the YAML files that people write for Stillpoint. Its errors never quote
// the file, because a file given by mistake may be the table itself, and errors are printed, logged and
// shared. An error gives the position and the rule that the file breaks.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
)

// ErrOther is the error, for [errors.Is], about a file that is obviously not one of Stillpoint's YAML files.
var ErrOther = errors.New("another kind of file")

// Error is an error in a file. It contains nothing of the file's text, except in errors that a
// type's own UnmarshalYAML returns.
type Error struct {
	// Line and Column count from 1. They are 0 if the position is not known.
	Line, Column int
	Rule         string

	other bool
}

// Is reports whether target is ErrOther and the file is of another kind.
func (e *Error) Is(target error) bool { return e.other && target == ErrOther }

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Rule
	}
	return fmt.Sprintf("[%d:%d] %s", e.Line, e.Column, e.Rule)
}

func fault(at *token.Token, rule string, args ...any) error {
	e := &Error{Rule: fmt.Sprintf(rule, args...)}
	if at != nil && at.Position != nil {
		e.Line, e.Column = at.Position.Line, at.Position.Column
	}
	return e
}

func other(rule string, args ...any) error {
	return &Error{Rule: fmt.Sprintf(rule, args...), other: true}
}

// Decode decodes one YAML document into a pointer to a struct. Every key must be the yaml tag of a field. Every value
// must have the field's type, and an integer field must be a whole number. The error is ErrOther if the file is not
// text in UTF-8 or has none of the struct's keys. An empty file is an error, too.
//
// Errors of a type's own UnmarshalYAML are passed on with their texts. They must quote nothing that may be
// part of a table.
func Decode(text []byte, into any) error {
	shape := reflect.TypeOf(into).Elem()
	if rule := notText(text); rule != "" {
		return other("%s: must be YAML with the keys %s", rule, strings.Join(keys(shape), ", "))
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return fault(nil, "is empty")
	}
	if !mentions(text, keys(shape)) {
		return other("must be YAML with the keys %s: none of them is in it", strings.Join(keys(shape), ", "))
	}
	if err := shallow(text); err != nil {
		return err
	}
	file, err := parse(text)
	if err != nil {
		var positioned yaml.Error
		if errors.As(err, &positioned) {
			return fault(positioned.GetToken(), "is not YAML as it stands here: look at indentation, brackets, quotes and colons")
		}
		if own := new(Error); errors.As(err, &own) {
			return own
		}
		return fault(nil, "is not YAML")
	}
	var root ast.Node
	for _, d := range file.Docs {
		switch {
		case d.Body == nil:
		case root != nil:
			return fault(d.Body.GetToken(), "must be one YAML document")
		default:
			root = d.Body
		}
	}
	if root == nil {
		return fault(nil, "is empty")
	}
	if err := conform(root, shape); err != nil {
		return err
	}
	if err := yaml.NodeToValue(root, into, yaml.Strict(), yaml.AllowDuplicateMapKey()); err != nil &&
		!errors.Is(err, io.EOF) {
		// An error that conform does not find may quote the file. Only its position is kept.
		var positioned yaml.Error
		if errors.As(err, &positioned) {
			return fault(positioned.GetToken(), "has not the form of what belongs here")
		}
		return fault(nil, "has not the form of such a file")
	}
	return nil
}

// notText returns a text that says why a file is not text in UTF-8, such as "is gzipped". It returns "" for
// text in UTF-8.
func notText(text []byte) string {
	start := text[:min(len(text), 4)]
	for _, f := range []struct{ magic, name string }{
		{"\x1f\x8b", "is gzipped"}, {"PK\x03\x04", "is a zip archive or a spreadsheet"}, {"PAR1", "is a Parquet file"},
		{"\xff\xfe", "is UTF-16 text"}, {"\xfe\xff", "is UTF-16 text"},
	} {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return f.name
		}
	}
	if bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
		return "is not text in UTF-8"
	}
	return ""
}

// mentions reports whether a line starts with one of the keys and a colon. Every configuration has such a
// line, and a table hardly ever has one.
func mentions(text []byte, keys []string) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimLeft(line, " \t{\"'-\ufeff")
		for _, key := range keys {
			rest, found := bytes.CutPrefix(line, []byte(key))
			if found && bytes.HasPrefix(bytes.TrimLeft(rest, "\"' \t"), []byte(":")) {
				return true
			}
		}
	}
	return false
}

// keys returns the keys of a struct's fields: the names in their yaml tags.
func keys(shape reflect.Type) []string {
	var list []string
	for i := range shape.NumField() {
		if key, _, _ := strings.Cut(shape.Field(i).Tag.Get("yaml"), ","); key != "" && key != "-" {
			list = append(list, key)
		}
	}
	return list
}

// conform returns an error unless a node has the form that the Go type shape requires.
func conform(node ast.Node, shape reflect.Type) error {
	if _, none := node.(*ast.NullNode); none || node == nil {
		return nil // null leaves the field unchanged
	}
	switch n := node.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return fault(n.GetToken(), "anchors, aliases and tags are not taken")
	}
	if own, err := ownWords(node, shape); own {
		return err
	}
	switch shape.Kind() {
	case reflect.Pointer:
		return conform(node, shape.Elem())
	case reflect.Struct:
		return conformStruct(node, shape)
	case reflect.Slice:
		list, ok := node.(*ast.SequenceNode)
		if !ok {
			return fault(node.GetToken(), "must be a list, such as [a, b]")
		}
		for _, v := range list.Values {
			if err := conform(v, shape.Elem()); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		return each(node, func(_ string, _ *token.Token, value ast.Node) error { return conform(value, shape.Elem()) })
	}
	return conformScalar(node, shape.Kind())
}

func conformStruct(node ast.Node, shape reflect.Type) error {
	return each(node, func(key string, at *token.Token, value ast.Node) error {
		for i := range shape.NumField() {
			if name, _, _ := strings.Cut(shape.Field(i).Tag.Get("yaml"), ","); name == key && name != "-" {
				return conform(value, shape.Field(i).Type)
			}
		}
		return fault(at, "%s", safetext.Unknown(key, keys(shape)))
	})
}

// each calls visit for each entry of a mapping, in order. It returns an error if node is not a mapping or a
// key is repeated, and the first error of visit.
func each(node ast.Node, visit func(key string, at *token.Token, value ast.Node) error) error {
	m, ok := node.(ast.MapNode)
	if !ok {
		return fault(node.GetToken(), "must be a mapping of keys to values")
	}
	seen := map[string]bool{}
	for entries := m.MapRange(); entries.Next(); {
		key, ok := entries.Key().(*ast.StringNode)
		at := entries.Key().GetToken()
		if !ok {
			return fault(at, "a key must be a plain name")
		}
		if seen[key.Value] {
			return fault(at, "a key is given twice")
		}
		seen[key.Value] = true
		if err := visit(key.Value, at, entries.Value()); err != nil {
			return err
		}
	}
	return nil
}

func conformScalar(node ast.Node, kind reflect.Kind) error {
	at := node.GetToken()
	text := ""
	switch n := node.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.LiteralNode:
		text = n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		text = at.Value
	default:
		if kind == reflect.Interface {
			return nil
		}
		return fault(at, "must be a single value")
	}
	switch kind {
	case reflect.Int, reflect.Int64:
		if _, err := strconv.Atoi(text); err != nil {
			return fault(at, "must be a whole number")
		}
	case reflect.Uint64:
		if _, err := strconv.ParseUint(text, 10, 64); err != nil {
			return fault(at, "must be a whole number >= 0")
		}
	case reflect.Float64:
		switch node.(type) {
		case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
			return nil
		}
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return fault(at, "must be a number")
		}
	case reflect.Bool:
		if _, ok := node.(*ast.BoolNode); !ok {
			return fault(at, "must be true or false")
		}
	}
	return nil
}

// ownWords decodes the node by the type's own UnmarshalYAML and returns its error. own reports
// whether the type has this method.
func ownWords(node ast.Node, shape reflect.Type) (own bool, err error) {
	if shape.Kind() == reflect.Pointer {
		return false, nil // conform calls ownWords again with the pointer's element type
	}
	switch reader := reflect.New(shape).Interface().(type) {
	case interface{ UnmarshalYAML(ast.Node) error }:
		err = reader.UnmarshalYAML(node)
	case interface{ UnmarshalYAML([]byte) error }:
		err = reader.UnmarshalYAML([]byte(node.GetToken().Value))
	case interface{ UnmarshalYAML(func(any) error) error }:
		err = reader.UnmarshalYAML(func(into any) error {
			if err := conform(node, reflect.TypeOf(into).Elem()); err != nil {
				return err
			}
			return yaml.NodeToValue(node, into, yaml.Strict())
		})
	default:
		return false, nil
	}
	var positioned yaml.Error
	var known *Error
	switch {
	case errors.As(err, &known):
		return true, known
	case errors.As(err, &positioned):
		return true, fault(positioned.GetToken(), "%s", positioned.GetMessage())
	case err != nil:
		return true, fault(node.GetToken(), "%v", err)
	}
	return true, nil
}
