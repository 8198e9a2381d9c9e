package strictyaml

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

// For each entry of a block mapping, the parser copies all later entries. Its time therefore grows with the square of
// the number of entries. This file parses long mappings in portions of entries, and joins the parsed portions.

// portion is the largest number of entries of a block mapping that the parser gets at a time.
const portion = 128

// parse returns the parsed documents of a text, without comments.
func parse(text []byte) (*ast.File, error) {
	tokens := slices.DeleteFunc(lexer.Tokenize(string(text)),
		func(t *token.Token) bool { return t.Type == token.CommentType })
	return parseTokens(tokens)
}

func parseTokens(tokens token.Tokens) (*ast.File, error) {
	cut := outermost(long(tokens))
	if len(cut) == 0 {
		return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	}
	var rest token.Tokens
	from := 0
	for _, m := range cut {
		rest = append(rest, tokens[from:m.entries[portion]]...)
		from = m.end
	}
	file, err := parser.Parse(append(rest, tokens[from:]...), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, err
	}
	found := mappings{}
	for _, d := range file.Docs {
		if d.Body != nil {
			ast.Walk(found, d.Body)
		}
	}
	for _, m := range cut {
		if err := m.complete(tokens, found[tokens[m.entries[0]]]); err != nil {
			return nil, err
		}
	}
	return file, nil
}

// mapping is a block mapping in a list of tokens: the column in which it starts, the indices of the
// tokens at which its entries start, and the index at which it ends.
type mapping struct {
	column  int
	entries []int
	end     int
}

// complete parses the entries of m after its first portion, and adds them to the node into, which holds the
// parsed first portion.
func (m mapping) complete(tokens token.Tokens, into *ast.MappingNode) error {
	for k := portion; k < len(m.entries); k += portion {
		end := m.end
		if k+portion < len(m.entries) {
			end = m.entries[k+portion]
		}
		file, err := parseTokens(slices.Clone(tokens[m.entries[k]:end]))
		if err != nil {
			return err
		}
		for _, d := range file.Docs {
			more, ok := d.Body.(*ast.MappingNode)
			if !ok || into == nil {
				return fault(tokens[m.entries[k]],
					"is not YAML as it stands here: look at indentation, brackets, quotes and colons")
			}
			into.Values = append(into.Values, more.Values...)
		}
	}
	return nil
}

// long returns the block mappings with more than portion entries, inner mappings before outer mappings.
// An entry starts a line with a key and a colon. The more deeply indented lines after it, and list items at
// the entry's own indentation, belong to the entry.
func long(tokens token.Tokens) (list []mapping) {
	var open []mapping
	closeTo := func(column, at int) {
		for len(open) > 0 && open[len(open)-1].column > column {
			m := open[len(open)-1]
			if open = open[:len(open)-1]; len(m.entries) > portion {
				m.end = at
				list = append(list, m)
			}
		}
	}
	flow := 0
	for i, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.DocumentHeaderType, token.DocumentEndType, token.MappingKeyType:
			return nil // files with several documents or complex keys are not accepted and not split
		}
		starts := flow == 0 && (i == 0 || t.Position.Line > tokens[i-1].Position.Line)
		if !starts || t.Type == token.MappingEndType || t.Type == token.SequenceEndType {
			continue
		}
		key := i+1 < len(tokens) && tokens[i+1].Type == token.MappingValueType && tokens[i+1].Position.Line == t.Position.Line
		if !key && i > 0 && awaits(tokens[i-1].Type) {
			continue // a scalar value on its own line, whose column does not matter
		}
		column := t.Position.Column
		closeTo(column, i)
		if !key {
			if t.Type != token.SequenceEntryType {
				closeTo(column-1, i)
			}
			continue
		}
		if k := len(open); k > 0 && open[k-1].column == column {
			open[k-1].entries = append(open[k-1].entries, i)
		} else {
			open = append(open, mapping{column: column, entries: []int{i}})
		}
	}
	closeTo(-1, len(tokens))
	return list
}

// awaits reports whether a scalar on the line after a token of type t may be the token's value.
func awaits(t token.Type) bool {
	return t == token.MappingValueType || t == token.LiteralType || t == token.FoldedType || t == token.SequenceEntryType
}

// outermost sorts mappings by position. It removes every mapping that is inside a later portion of another
// mapping, since complete parses such a portion by parseTokens, which splits the inner mapping.
func outermost(list []mapping) []mapping {
	slices.SortFunc(list, func(a, b mapping) int { return a.entries[portion] - b.entries[portion] })
	end := 0
	return slices.DeleteFunc(list, func(m mapping) bool {
		if m.entries[portion] < end {
			return true
		}
		end = m.end
		return false
	})
}

// mappings finds a mapping node by the token of any of its keys.
type mappings map[*token.Token]*ast.MappingNode

func (m mappings) Visit(node ast.Node) ast.Visitor {
	if n, ok := node.(*ast.MappingNode); ok {
		for _, v := range n.Values {
			m[v.Key.GetToken()] = n
		}
	}
	return m
}

const (
	// Largest is the largest size in bytes of a file that people write: about 50,000 columns with
	// their bounds.
	Largest = 4 << 20
	// mostTokens is the largest number of tokens, which is enough for a file of Largest bytes. The parser
	// uses half a kilobyte of memory for each token.
	mostTokens = 500_000
	// deepest is the largest depth of nesting of lists and mappings. The parser's memory grows with the
	// square of the depth.
	deepest = 24
)

// shallow returns an error for a text whose parsing would take time or memory out of proportion to its size:
// a text with deep nesting, too many tokens, or aliases, which expand. It is called before parsing. Errors
// quote nothing of the text.
func shallow(text []byte) error {
	if len(text) > Largest {
		return fmt.Errorf("is larger than %d bytes", Largest)
	}
	var s scanner.Scanner
	s.Init(string(text))
	var d depth
	for n := 0; ; {
		tokens, err := s.Scan()
		for _, t := range tokens {
			if n++; n > mostTokens {
				return fmt.Errorf("has more than %d parts", mostTokens)
			}
			if rule := d.after(t); rule != "" {
				return fault(t, "%s", rule)
			}
		}
		if errors.Is(err, io.EOF) { // the parser reports other errors
			return nil
		}
	}
}

// depth tracks, while tokens are processed in order, how deeply lists and mappings are nested.
type depth struct {
	brackets int // number of open brackets and braces
	// blocks are the columns in which the open block lists and mappings start.
	blocks []int
	last   *token.Token
}

// after updates the depth by the next token t. It returns the rule that the token breaks, or "" if it breaks
// none.
func (d *depth) after(t *token.Token) string {
	column := t.Position.Column
	if t.Type == token.MappingValueType && d.last != nil && d.last.Position.Line == t.Position.Line {
		column = d.last.Position.Column // column of the key
	}
	d.last = t
	switch t.Type {
	case token.AnchorType, token.AliasType, token.MergeKeyType:
		return "anchors, aliases and tags are not taken"
	case token.SequenceStartType, token.MappingStartType:
		d.brackets++
	case token.SequenceEndType, token.MappingEndType:
		d.brackets = max(d.brackets-1, 0)
	case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
		if d.brackets > 0 {
			break
		}
		for len(d.blocks) > 0 && d.blocks[len(d.blocks)-1] >= column {
			d.blocks = d.blocks[:len(d.blocks)-1]
		}
		d.blocks = append(d.blocks, column)
	}
	if len(d.blocks)+d.brackets > deepest {
		return fmt.Sprintf("lists and mappings are nested more than %d deep", deepest)
	}
	return ""
}
