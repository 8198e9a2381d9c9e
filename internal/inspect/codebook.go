package inspect

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/table"
	"github.com/stillpoint-dp/stillpoint/internal/yamltext"
)

// codebookColumns lists the names that codebooks give to their own columns, in lower case, with those of REDCap's data
// dictionary.
var codebookColumns = map[string][]string{
	"name":   {"name", "variable", "column", "field", "variable name", "column name", "variable / field name"},
	"kind":   {"kind", "type", "field type", "data type", "datatype", "variable type"},
	"low":    {"low", "min", "minimum", "lower", "lower bound", "text validation min"},
	"high":   {"high", "max", "maximum", "upper", "upper bound", "text validation max"},
	"values": {"values", "levels", "categories", "codes", "choices", "allowed values", "choices, calculations, or slider labels"},
	"form":   {"format", "validation", "text validation type or show slider number"},
}

// kindWords lists the words for kinds of columns in codebooks.
var kindWords = map[dataset.ColumnKind][]string{
	dataset.Number: {"number", "numeric", "integer", "int", "float", "double", "decimal", "real", "continuous", "count",
		"slider", "calc", "number_1dp", "number_2dp"},
	dataset.Date: {"date", "datetime", "timestamp", "date_ymd", "date_mdy", "date_dmy", "datetime_ymd", "datetime_mdy",
		"datetime_dmy", "datetime_seconds_ymd"},
	dataset.Category: {"category", "categorical", "factor", "nominal", "ordinal", "enum", "dropdown", "radio", "yesno",
		"truefalse", "boolean", "bool", "binary"},
	dataset.Ignore: {"id", "identifier", "ignore", "notes", "file", "descriptive", "text", "string", "email", "phone"},
}

// Codebook drafts the columns of a schema from a codebook: a table with a row for each column, which gives its name and
// any of its kind, bounds and values. Facts that the codebook does not give stay open. from is the codebook's name for
// the notes. Codebook returns an error if no column of the codebook holds names.
func Codebook(ctx context.Context, path string, as dataset.CSV, from string) (map[string]Drafted, error) {
	at := map[string]int{}
	columns := map[string]Drafted{}
	err := each(ctx, []string{path}, as, func(r *table.Reader) error {
		for what, names := range codebookColumns {
			at[what] = slices.IndexFunc(r.Header(), func(h string) bool {
				return slices.Contains(names, strings.ToLower(strings.TrimSpace(h)))
			})
		}
		if at["name"] < 0 {
			return errors.New("codebook: must have a column name, variable, column or field, with a row for each column of the table")
		}
		return nil
	}, nil, func(cells []string) {
		get := func(what string) string {
			if i := at[what]; i >= 0 && i < len(cells) {
				return strings.TrimSpace(cells[i])
			}
			return ""
		}
		name := get("name")
		if entry, ok := described(name, get); ok && name != "" {
			columns[name] = Drafted{Entry: entry, Note: "from " + from}
		}
	})
	return columns, err
}

// described returns the entry of the column that a row of a codebook describes. ok is false if the row says neither its
// kind nor its values.
func described(name string, get func(string) string) (entry string, ok bool) {
	values := choices(get("values"))
	kind, known := kindOf(get("form"), get("kind")) // a format says more: REDCap's type of a number is text
	switch word := strings.ToLower(get("kind")); {
	case word == "yesno" || word == "truefalse":
		values = []string{"0", "1"}
	case len(values) > 1 && (!known || kind == dataset.Ignore):
		kind = dataset.Category
	case !known && get("low") == "" && get("high") == "":
		return "", false
	}
	switch kind {
	case dataset.Ignore:
		if g, is := guess(name); is && g != dataset.Ignore {
			return "", false // a text of unknown content: its name says more
		}
		return "ignore", true
	case dataset.Category:
		if len(values) == 0 {
			return openCategory, true
		}
		return "{category: " + yamltext.Texts(values) + "}", true
	case dataset.Date:
		low, one := dataset.Day(get("low"))
		high, other := dataset.Day(get("high"))
		return entryOf("date", open(dataset.ShowDay(low), one == nil), open(dataset.ShowDay(high), other == nil)), true
	}
	low, one := strconv.ParseFloat(get("low"), 64)
	high, other := strconv.ParseFloat(get("high"), 64)
	both := one != nil || other != nil || low < high
	return entryOf("number", open(strconv.FormatFloat(low, 'g', -1, 64), one == nil && both),
		open(strconv.FormatFloat(high, 'g', -1, 64), other == nil && both)), true
}

// kindOf returns the kind of column that the first of the words in kindWords stands for. known is false if none is there.
func kindOf(words ...string) (kind dataset.ColumnKind, known bool) {
	for _, word := range words {
		for k, list := range kindWords {
			if slices.Contains(list, strings.ToLower(word)) {
				return k, true
			}
		}
	}
	return dataset.Number, false
}

// entryOf returns the entry of a column of a kind with two bounds.
func entryOf(kind, low, high string) string { return "{" + kind + ": [" + low + ", " + high + "]}" }

// open returns the text, or the placeholder if it is not known.
func open(text string, known bool) string {
	if known {
		return text
	}
	return placeholder
}

// mostChoices is the largest number of values that a codebook may list for a column.
const mostChoices = 1000

// choices divides a codebook's list of values, such as "1, male | 2, female", "1=male; 2=female" or "male, female", and
// returns the codes that stand in the table.
func choices(text string) (list []string) {
	separator := ","
	for _, s := range []string{"|", ";", "\n"} {
		if strings.Contains(text, s) {
			separator = s
			break
		}
	}
	for part := range strings.SplitSeq(text, separator) {
		if separator == "|" {
			part, _, _ = strings.Cut(part, ",")
		}
		part, _, _ = strings.Cut(part, "=")
		part = strings.Trim(strings.TrimSpace(part), `"'`)
		if part != "" && part != "other" && !slices.Contains(list, part) && len(list) < mostChoices {
			list = append(list, part)
		}
	}
	return list
}
