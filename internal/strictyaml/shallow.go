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
