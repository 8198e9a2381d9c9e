package strictyaml

import (
	"errors"
	"fmt"
	"io"

	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

const (
	// Largest is the largest size of a file that people write, in bytes: some
	// 50,000 columns with their bounds.
	Largest = 4 << 20
	// mostTokens holds as many; the parser takes half a kilobyte for each.
	mostTokens = 500_000
	// deepest is how far lists and mappings may be nested. The parser's memory
	// grows with the square of the depth.
	deepest = 24
)

// shallow refuses, before it is parsed, a text that would cost its reader much
// more than its size: nested deeply, of very many parts, or by aliases grown
// beyond it. Errors give line and rule and quote nothing.
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
		if errors.Is(err, io.EOF) { // other errors are for the parser to word
			return nil
		}
	}
}

// depth is that of lists and mappings at a token.
type depth struct {
	brackets int
	// blocks are the columns at which those by indentation stand open.
	blocks []int
	last   *token.Token
}

// after goes on to the next token and returns the rule it breaks, or "".
func (d *depth) after(t *token.Token) string {
	column := t.Position.Column
	if t.Type == token.MappingValueType && d.last != nil && d.last.Position.Line == t.Position.Line {
		column = d.last.Position.Column // of the key
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
