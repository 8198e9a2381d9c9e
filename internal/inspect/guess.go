package inspect

import (
	"slices"
	"strings"
	"unicode"

	"github.com/stillpoint-dp/stillpoint/dataset"
)

// Entries of a drafted schema whose facts are missing, by kind.
const (
	openNumber   = "{number: [" + placeholder + ", " + placeholder + "]}"
	openDate     = "{date: [" + placeholder + ", " + placeholder + "]}"
	openCategory = "{category: [" + placeholder + "]}"
)

// guesses lists words of columns' names by the kind of column that they suggest. The first kind that has one of a
// name's words counts. A guess depends on the name alone: the cells of the table are never read for it.
var guesses = []struct {
	kind  dataset.ColumnKind
	words []string
}{
	{dataset.Ignore, []string{"id", "uid", "uuid", "guid", "mrn", "ssn", "nino", "nhs", "name", "surname", "firstname",
		"lastname", "forename", "email", "mail", "phone", "telephone", "fax", "address", "street", "url", "note", "notes",
		"comment", "comments", "remarks", "key", "index", "rownames", "barcode", "passport", "iban"}},
	{dataset.Date, []string{"date", "dates", "day", "dob", "born", "birthdate", "birthday", "datum", "timestamp", "admitted",
		"discharged", "dod", "onset"}},
	{dataset.Category, []string{"sex", "gender", "race", "ethnicity", "ethnic", "region", "state", "country", "province",
		"county", "district", "ward", "type", "kind", "class", "status", "category", "group", "stage", "grade", "marital",
		"relationship", "education", "occupation", "job", "industry", "sector", "religion", "language", "nationality",
		"citizenship", "department", "specialty", "site", "hospital", "payer", "insurance", "plan", "smoker", "smoking",
		"diabetic", "flag", "is", "has", "method", "color", "colour", "brand", "season", "weekday", "month", "arm",
		"treatment", "outcome", "diagnosis", "icd", "icd9", "icd10", "zip", "postcode"}},
	{dataset.Number, []string{"age", "year", "years", "months", "days", "hours", "minutes", "count", "number", "num", "n",
		"amount", "total", "sum", "price", "cost", "costs", "income", "salary", "wage", "charge", "charges", "premium",
		"weight", "height", "length", "width", "size", "bmi", "score", "rate", "ratio", "percent", "pct", "share",
		"temperature", "temp", "pressure", "systolic", "diastolic", "pulse", "glucose", "cholesterol", "hba1c", "dose", "time",
		"duration", "distance", "area", "volume", "level", "latitude", "longitude", "lat", "lon", "visits", "children"}},
}

// guess returns the kind of column that a name suggests. known is false if the name suggests none.
func guess(name string) (kind dataset.ColumnKind, known bool) {
	words := wordsOf(name)
	for _, g := range guesses {
		if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(g.words, w) }) {
			return g.kind, true
		}
	}
	return dataset.Number, false
}

// wordsOf divides a column's name into words in lower case: at characters that are no letters or digits, and where an
// upper case letter follows a lower case letter.
func wordsOf(name string) []string {
	var b strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// guessed returns the entry of a column of which only the name is known, with a comment that offers the other kinds.
func guessed(name string) string {
	kind, known := guess(name)
	if !known {
		return openNumber + " # or " + openCategory + ", " + openDate
	}
	switch kind {
	case dataset.Ignore:
		return "ignore # guessed from the name"
	case dataset.Date:
		return openDate + " # guessed from the name"
	case dataset.Category:
		return openCategory + " # guessed from the name"
	}
	return openNumber + " # guessed from the name"
}
