package strictyaml

import (
	"errors"
	"fmt"
	"io"

	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

const (
	// Largest is the largest size in bytes of a file that people write: about 50,000 columns with
	// their bounds.
	Largest = 4 << 20
	// mostTokens is enough for a file of that size; the parser uses half a kilobyte for each token.
	mostTokens = 500_000
	// deepest bounds the nesting of lists and mappings. The parser's memory grows with the square
	// of the depth.
	deepest = 24
)

// shallow returns an error, before parsing, for a text whose parsing would cost much more than its
// size: deep nesting, too many tokens, or aliases that expand. Errors give line and rule and quote
// nothing.
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
	brackets int
	// blocks are the columns of the open block lists and mappings.
	blocks []int
	last   *token.Token
}

// after updates the depth by the next token. It returns the rule that the token breaks, or "".
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
