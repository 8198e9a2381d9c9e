// Package yamltext writes texts as YAML.
package yamltext

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// plain matches texts that need no quotes in YAML. It matches no YAML number. It matches the YAML words for
// null, true and false, which Text excludes.
var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Quote returns a text as a YAML scalar in double quotes.
func Quote(s string) string {
	// A JSON string is a valid YAML double-quoted string.
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		panic(err) // encoding a string cannot fail
	}
	return string(safetext.JSON([]byte(strings.TrimSuffix(b.String(), "\n"))))
}

// Text returns a text as a YAML scalar, in double quotes only where YAML needs them.
func Text(s string) string {
	if plain.MatchString(s) {
		switch strings.ToLower(s) {
		case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		default:
			return s
		}
	}
	return Quote(s)
}

// Texts returns texts as a YAML list.
func Texts(values []string) string { return "[" + strings.Join(vector.Map(values, Text), ", ") + "]" }
