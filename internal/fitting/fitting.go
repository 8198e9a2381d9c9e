// Package fitting makes a fit of a configuration, in a folder or without one, and describes the fit in words. The root
// package and the command rest on it.
package fitting

import (
	"context"
	"errors"
	"io"

	"github.com/stillpoint-dp/stillpoint/curator"
	"github.com/stillpoint-dp/stillpoint/internal/report"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// Result is a fit that has ended.
type Result struct {
	// Run is everything that the fit released and charged.
	Run *train.Fitted
	// Kept describes the folder in which the fit is stored; nil without a folder.
	Kept *runfolder.Fitted

	table string
}

// Fit makes the fit that c describes. It stores the fit in the folder, if that is not nil. The result is nil under
// the conditions of stillpoint.Fit.
func Fit(ctx context.Context, c *train.Config, folder *runfolder.Out, o train.Options) (*Result, error) {
	if folder == nil {
		f, err := c.Fit(ctx, o)
		if f == nil {
			return nil, err
		}
		return &Result{Run: f, table: c.TableName()}, err
	}
	kept, err := runfolder.Fit(ctx, c, *folder, o)
	if kept == nil {
		return nil, err
	}
	return &Result{Run: kept.Fitted, Kept: kept, table: c.TableName()}, err
}

// Save writes the files of the fit to a new folder.
func (r *Result) Save(dir string) error { return runfolder.Save(dir, r.Run) }

// Report writes a page about the fit. It returns an error if the fit has no certificate.
func (r *Result) Report(ctx context.Context, w io.Writer) error {
	if r.Run.Certificate == nil {
		return errors.New("the fit has no certificate")
	}
	cert, err := r.Run.Certificate.Bytes()
	if err != nil {
		return err
	}
	var text []byte
	if r.Run.Model != nil {
		if text, err = r.Run.Model.Bytes(); err != nil {
			return err
		}
	}
	fit, err := report.NewFit(ctx, cert, text)
	if err != nil {
		return err
	}
	page, err := fit.Page(ctx)
	if err != nil {
		return err
	}
	return page.Render(w)
}

// Coefficients returns a table of the coefficients with their confidence intervals, as text. It returns "" for a fit
// without intervals or without a model.
func (r *Result) Coefficients() string {
	if r.Run.Model == nil || r.Run.Model.Inference() == nil {
		return ""
	}
	list, err := r.Run.Model.Coefficients()
	if err != nil {
		return ""
	}
	return report.CoefficientText(list)
}

// Types of package curator for a table in partitions.
type (
	Shards      = curator.Shards
	ShardKey    = curator.ShardKey
	ShardEvent  = curator.ShardEvent
	ShardWorker = curator.Worker
)

// Functions and errors of package curator for a table in partitions.
var (
	NewShardKey   = curator.NewShardKey
	ParseShardKey = curator.ParseShardKey
	ServeShard    = curator.Serve
	ErrShardLost  = curator.ErrShardLost
	ErrShardSpare = curator.ErrShardSpare
)
