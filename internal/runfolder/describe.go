package runfolder

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// SchemaFile is the name of the file in which a description writes the configuration's schema with released bounds.
// PageFile is the name of its page.
const (
	SchemaFile = "schema.yaml"
	PageFile   = "describe.html"
)

// Described is a description that is stored in a folder.
type Described struct {
	*train.Described
	// Earlier are the reservations of other runs for the same table, as Fitted.Earlier has them.
	Earlier []Entry
	Folder  string
}

// Together describes in words the privacy cost of the description and the earlier runs of the table together. It
// returns "" if there are none.
func (d *Described) Together(ctx context.Context) string {
	run := &train.Fitted{Planned: train.Planned{Budget: d.Budget}, Entry: d.Entry}
	run.Unit.Column = d.Entry.Unit
	return (&Fitted{Fitted: run, Earlier: d.Earlier}).Together(ctx)
}

// Describe does what train.Config.Describe does and stores the description in a folder, as Fit stores a fit.
func Describe(ctx context.Context, c *train.Config, to Out, o train.DescribeOptions) (*Described, error) {
	out := to.folder(c, o.Stores)
	if out.describes = true; out.base != "" {
		out.base = c.Name() + "-describe"
	}
	ctx = out.on(ctx)
	o.Storage = &storage{out}
	d, err := c.Describe(ctx, o)
	if d == nil {
		return nil, err
	}
	return &Described{Described: d, Earlier: out.others, Folder: out.path}, err
}
