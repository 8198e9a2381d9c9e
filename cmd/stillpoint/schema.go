package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/columnname"
	"github.com/stillpoint-dp/stillpoint/internal/inspect"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/table"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/internal/yamltext"
)

type schemaCommand struct {
	Data       string `arg:"" optional:"" help:"Table (CSV, plain or compressed, or Parquet); only its header is read." placeholder:"DATA"`
	Header     bool   `help:"Treat the first row as a header although it looks like a record. The draft then shows it." xor:"header"`
	Codebook   string `help:"Draft kinds, bounds and values from this codebook, a table with a row for each column, such as REDCap's data dictionary." placeholder:"FILE"`
	FromPublic string `help:"Draft kinds, bounds and values from the rows of this table, which must be public and never DATA." name:"from-public" placeholder:"FILE"`

	Editor bool `help:"Print the JSON Schema by which editors check a configuration."`

	NoHeader bool `help:"Treat the first row as a record: make up names of the columns, and show nothing of the row." xor:"header"`
	csvFlags
}

// editorSchema is the JSON Schema of a configuration, which TestEditorSchemaIsFresh generates from the declarations of
// the keys. Its name has the version of the schema: a file that it accepts, it accepts in every later edition.
//
//go:embed stillpoint-1.schema.json
var editorSchema string

// Validate returns an error if the command line names no table, except with --editor.
func (s *schemaCommand) Validate() error {
	if s.Data == "" && !s.Editor {
		return errors.New(`expected "<data>"`)
	}
	return nil
}

func (s *schemaCommand) Run(ctx context.Context, c *console) error {
	if s.Editor {
		_, err := fmt.Fprint(c.out, editorSchema)
		return err
	}
	r, err := table.Open([]string{s.Data}, s.csv())
	if err != nil {
		return err
	}
	header := append([]string(nil), r.Header()...)
	if err := r.Close(); err != nil {
		return err
	}
	as := s.csv()
	switch {
	case s.NoHeader:
		header = vector.Make(len(header), func(i int) string { return "column" + strconv.Itoa(i+1) })
		as.Header = header
	case s.Header:
		if i := tooMuch(header); i >= 0 {
			return fmt.Errorf("%s: column %d of the first row: must be one line of at most %d characters to be the name of a "+
				"column", s.Data, i+1, mostName)
		}
	case !columnname.All(header):
		return errors.New(s.Data + ": the first row looks like a record, not like names of columns, and is not shown: " +
			"name its columns by csv: {header: [...]} (--no-header drafts that); if it is a header, say --header")
	}
	note := ""
	if !as.IsZero() {
		note = "csv: " + as.String() + "\n\n"
	}
	columns, err := s.drafted(ctx, header, &note)
	if err != nil {
		return err
	}
	name := filepath.Base(s.Data)
	_, err = fmt.Fprintf(c.out, draft, safetext.Text(name), yamltext.Quote(name), note, columns)
	return err
}

// drafted returns the draft of a schema for a table with the given header. With --codebook, it drafts kinds, bounds and
// values from the codebook; with --from-public, it drafts those of further columns from the rows of that public table,
// and adds a remark to note.
func (s *schemaCommand) drafted(ctx context.Context, header []string, note *string) (string, error) {
	columns := map[string]inspect.Drafted{}
	if s.Codebook != "" {
		if err := s.another("--codebook", s.Codebook); err != nil {
			return "", err
		}
		var err error
		columns, err = inspect.Codebook(ctx, s.Codebook, dataset.CSV{}, safetext.Text(filepath.Base(s.Codebook)))
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.Codebook, err)
		}
	}
	if s.FromPublic == "" {
		return inspect.Schema(header, columns, nil), nil
	}
	if err := s.another("--from-public", s.FromPublic); err != nil {
		return "", err
	}
	name := safetext.Text(filepath.Base(s.FromPublic))
	drafted, missing, err := inspect.Draft(ctx, s.FromPublic, s.csv(), name)
	if err != nil {
		return "", err
	}
	for column, d := range drafted {
		if _, is := columns[column]; !is { // a codebook states facts, a sample shows some of them
			columns[column] = d
		}
	}
	*note += "# Lines that name " + name + " come from its rows, which whoever drafted this said are\n# public. Look " +
		"at each of them: these lines are published with the model.\n"
	return inspect.Schema(header, columns, missing), nil
}

// another returns an error if the public file of a flag is the sensitive table itself.
func (s *schemaCommand) another(flag, file string) error {
	public, err := os.Stat(file)
	if err != nil {
		return err
	}
	data, err := os.Stat(s.Data)
	if s.Data == table.Standard {
		data, err = os.Stdin.Stat()
	}
	if err == nil && os.SameFile(data, public) {
		return fmt.Errorf("%s %s: is the table itself: bounds and values from it are facts about its people, "+
			"published without a charge", flag, file)
	}
	return nil
}

// mostName is the greatest length of a column's name, in characters.
const mostName = 1000

// tooMuch returns the index of the first cell of the header that cannot be a column's name, and -1 if every
// cell can be a name. A name has at most mostName characters and no control character.
func tooMuch(header []string) int {
	return slices.IndexFunc(header, func(name string) bool {
		return utf8.RuneCountInString(name) > mostName || strings.ContainsFunc(name, unicode.IsControl)
	})
}

// draft is a configuration with places for the table's name, its path, a note and the schema.
//
//go:embed draft.txt
var draft string

type checkCommand struct {
	Config string `arg:"" help:"Configuration file (YAML); its budget is not used." placeholder:"CONFIG"`
	Data   string `arg:"" optional:"" help:"Table to check; without it the table of the configuration." placeholder:"FILE"`
	Strict bool   `help:"End with exit code 1 if a fault loses a column or half of the rows."`
	JSON   bool   `help:"Print JSON." name:"json"`
}

func (f *checkCommand) Run(ctx context.Context, c *console) error {
	config, err := train.ReadConfig(f.Config)
	if err != nil {
		return err
	}
	path, paths := f.Data, []string{f.Data}
	if path == "" {
		path = config.DataPath()
		if paths, err = config.DataPaths(); err != nil {
			return err
		}
	}
	report, err := inspect.Check(ctx, paths, config.CSV, config.Schema)
	if err != nil {
		return err
	}
	err = c.answer(f.JSON, struct {
		Private bool   `json:"private"`
		Warning string `json:"warning"`
		Table   string `json:"table"`
		*inspect.Report
	}{false, inspect.Warning, path, report}, checked(path, report))
	if lost := report.Lost(); err == nil && f.Strict && len(lost) > 0 {
		return fmt.Errorf("check: lost: %s", strings.Join(vector.Map(lost, safetext.Text), "; "))
	}
	return err
}

// checked returns a text that describes how the schema reads the table at path, and the problems that were
// found. The text quotes cells and is not private.
func checked(path string, r *inspect.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", inspect.Warning)
	fmt.Fprintf(&b, "%s: %d rows", safetext.Text(path), r.Rows)
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, ", %d more left out by the row filter", r.LeftOut)
	}
	fmt.Fprintf(&b, "\nrows that count and contribute nothing: %d, of which %d have more or fewer cells than the header\n\n",
		r.Silent, r.Malformed)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "column\tkind\tread\tmissing\tunreadable\tbelow\tabove\tother\t")
	for _, c := range r.Columns {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", safetext.Text(c.Name), c.Kind, c.Read, c.Missing, c.Unreadable,
			c.Below, c.Above, c.Other)
	}
	w.Flush()
	for _, p := range r.Table {
		fmt.Fprintf(&b, "\n%d rows: %s\n  %s\n", p.Cells, p.What, p.Do)
	}
	for _, c := range r.Columns {
		for _, p := range c.Findings {
			fmt.Fprintf(&b, "\n%s: %s: %s", safetext.Text(c.Name), counted(int(p.Cells), "cell"), p.What)
			before := ": "
			for _, e := range p.Examples {
				fmt.Fprintf(&b, "%s%q", before, e)
				before = ", "
			}
			fmt.Fprintf(&b, "\n  %s\n", p.Do)
		}
	}
	if r.Findings() == 0 {
		fmt.Fprint(&b, "\nnothing seems wrong\n")
	}
	return b.String()
}
