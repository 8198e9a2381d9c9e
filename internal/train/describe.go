package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/describe"
	"github.com/stillpoint-dp/stillpoint/internal/inference"
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
	"github.com/stillpoint-dp/stillpoint/internal/runrecord"
	"github.com/stillpoint-dp/stillpoint/internal/strictyaml"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// descriptionFormat is the member format of a description's file.
const descriptionFormat = "stillpoint description"

// Description is the content of the file of a description.
type Description struct {
	Format   string `json:"format"`
	Version  int    `json:"version"`
	Software string `json:"software"`
	Table    string `json:"table"`
	account.Guarantee
	Neighbour   string `json:"neighbour"`
	Certificate string `json:"certificate"`
	describe.Description
	// Schema is the configuration's schema with released bounds (see Described).
	Schema *dataset.Schema `json:"schema"`
}

// Described is a description that was made.
type Described struct {
	Description
	// Text is the description's file.
	Text        []byte
	Certificate *certificate.Certificate
	Budget      account.Budget
	Entry       Entry
	Charged     float64
	Reserved    *account.Reservation
}

// DescribeOptions say how a table is described.
type DescribeOptions struct {
	// By names the category by whose values the columns are described, too; empty for none.
	By string
	// Level is the confidence level of the intervals.
	Level float64
	Options
}

// ReadDescription reads the configuration of a description. It need not have a section model.
func ReadDescription(path string) (*Config, error) { return readInto(path, &Config{describes: true}) }

// Describe describes the table of the configuration by private releases. It reserves the whole budget, as Fit does,
// before the first release.
func (c *Config) Describe(ctx context.Context, o DescribeOptions) (*Described, error) {
	if c.Shards != nil {
		return nil, errors.New("shards: must be left out: only one process can describe a table")
	}
	if err := inference.CheckLevel(o.Level); err != nil {
		return nil, fmt.Errorf("describe: %w", err)
	}
	k := o.storage()
	budget, declared, err := c.granted(k)
	if err != nil {
		return nil, err
	}
	schema, err := describe.Schema(c.Schema, o.By)
	if err != nil {
		return nil, err
	}
	l, err := describedLoss(schema)
	if err != nil {
		return nil, err
	}
	data, err := c.Identity()
	if err != nil {
		return nil, err
	}
	store, session, err := c.opened(ctx, o.Stores, false,
		curator.Config{Schema: schema, Loss: l, Budget: budget, Declared: declared})
	if err != nil {
		return nil, err
	}
	defer store.close()
	defer session.Close()
	records := session.All().Size()
	defer k.Release()
	d := &Described{Budget: budget,
		Entry: Entry{Data: data, Algorithm: describe.Name, Guarantee: budget.Guarantee(schema.Unit().Column)}}
	plan := runrecord.Plan{Algorithm: describe.Name, Steps: len(describe.Shares),
		Charges: fmt.Sprintf("shares of the budget: %v; each pays for a mean row", describe.Shares),
		Output:  "counts, quantiles and means that follow from the mean rows"}
	h, log, err := store.begun(ctx, k, session, &d.Entry, func() (Header, error) {
		return Header{Journal: JournalVersion, Software: o.Software, Fit: k.Number(), Guarantee: d.Entry.Guarantee,
			Records: int64(records), Loss: l.Name(), Regularizer: loss.None().Name(), Schema: schema, Describes: true,
			Plan: plan}, nil
	}, Released{Run: runrecord.Run{Plan: plan}})
	if err != nil {
		return nil, err
	}
	defer log.Close()
	d.Reserved = h.Budget
	oracle := &recorder{session: session, log: log, store: store}
	found, err := describe.Request{
		Schema: schema, Loss: l, By: o.By, Charge: budget.Charge(), Records: records, Level: o.Level,
		Counted: budget.Relation() == account.ReplaceOne && schema.Unit() == (dataset.Unit{}),
	}.Run(ctx, oracle, session.Refine)
	_ = session.Close()
	d.Charged = session.Ledger().Charged()
	if err == nil {
		err = d.complete(c, h, session, found)
	}
	if err != nil {
		log.Discard()
		return nil, k.Charged(errors.Join(err, oracle.finish(), k.Settle(d.Charged, false), store.settle(ctx, k, session)))
	}
	if err := log.Publish(d.Text, d.Certificate); err != nil {
		return nil, k.Charged(err)
	}
	if err := store.settle(ctx, k, session); err != nil {
		return d, k.Charged(err)
	}
	return d, nil
}

// describedLoss returns the loss of the records of a description, which has no effect on its releases.
func describedLoss(s *dataset.Schema) (loss.Loss, error) {
	row, err := loss.Squared(1)
	if err != nil || s.Unit() == (dataset.Unit{}) {
		return row, err
	}
	return loss.NewUnits(row, s.Unit().Rows, true)
}

// complete makes the file and the certificate of a description.
func (d *Described) complete(c *Config, h Header, session certificate.Session, found *describe.Description) error {
	schema, err := bounded(c.Schema, *found, false)
	if err != nil {
		return err
	}
	d.Description = Description{
		Format: descriptionFormat, Version: 1, Software: h.Software, Table: c.TableName(), Guarantee: h.Guarantee,
		Neighbour: h.RecordUnit().Neighbour(h.filter(), h.Relation), Certificate: runrecord.CertificateFile, Description: *found,
		Schema: schema,
	}
	if d.Text, err = json.MarshalIndent(d.Description, "", " "); err != nil {
		return err
	}
	d.Text = append(d.Text, '\n')
	_, d.Certificate, err = h.Files(Released{Complete: true, Session: session, Described: d.Text,
		Run: runrecord.Run{Plan: h.Plan}})
	return err
}

// bounded returns the schema with the bounds that a description released: for the numbers and dates whose bounds it
// leaves to a description and, unless left is true, for those whose bounds are wider.
func bounded(s *dataset.Schema, found describe.Description, left bool) (*dataset.Schema, error) {
	of := map[string][]float64{}
	for _, c := range found.Columns {
		of[c.Name] = c.Bounds
	}
	missed := func(name string) error {
		return fmt.Errorf("schema: %q: auto: the description found no number above its noise: must be two bounds", name)
	}
	columns := s.Columns()
	for i := range columns {
		c := &columns[i]
		auto := describe.Auto(*c)
		switch b := of[c.Name]; {
		case left && auto && b == nil:
			return nil, missed(c.Name)
		case b == nil || c.Knots != nil || !auto && (left || b[0] <= c.Low && b[1] >= c.High):
		default:
			c.Low, c.High = max(b[0], c.Low), min(b[1], c.High)
		}
	}
	t := s.Target()
	if auto := t.Kind == dataset.Number && describe.Auto(dataset.Column{Kind: t.Kind, Low: t.Low, High: t.High}); auto {
		switch b := of[t.Column]; {
		case b != nil:
			t.Low, t.High = b[0], b[1]
		case left:
			return nil, missed(t.Column)
		}
	}
	return dataset.New(definition(s, columns, t))
}

// unbounded returns the columns whose bounds the schema leaves to a description.
func unbounded(s *dataset.Schema) (names []string) {
	t := s.Target()
	for _, c := range append(s.Columns(), dataset.Column{Name: t.Column, Kind: t.Kind, Low: t.Low, High: t.High}) {
		if describe.Auto(c) {
			names = append(names, c.Name)
		}
	}
	return names
}

// resolveBounds gives the columns whose bounds the schema leaves to a description the bounds that the description
// released, which the key described names. It returns an error if a fit would have such a column without bounds.
func (c *Config) resolveBounds() error {
	names := unbounded(c.Schema)
	switch {
	case c.describes, len(names) == 0 && c.Described == "":
		return nil
	case c.Described == "":
		return fmt.Errorf("schema: %q: auto: must be two bounds, or the key described must name a description that has them "+
			"(stillpoint describe)", strings.Join(names, ", "))
	case len(names) == 0:
		return fmt.Errorf("described = %q: must be left out where no column has number: auto or date: auto", c.Described)
	}
	path := c.resolve(c.Described)
	text, err := regularfile.Read(path, strictyaml.Largest)
	if err != nil {
		return fmt.Errorf("described: %w", err)
	}
	var d Description
	if err := json.Unmarshal(text, &d); err != nil || d.Format != descriptionFormat || d.Version != 1 {
		return fmt.Errorf("described: %s: must be the file %s that stillpoint describe writes", path, DescriptionFile)
	}
	schema, err := bounded(c.Schema, d.Description, true)
	if err != nil {
		return fmt.Errorf("described: %s: %w", path, err)
	}
	slices.Sort(names)
	c.Schema, c.described = schema, &runrecord.Described{SHA256: sha(text), Columns: names, Epsilon: d.Epsilon, Delta: d.Delta}
	return nil
}
