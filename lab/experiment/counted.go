package experiment

import (
	"context"

	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/query"
)

// counted is a session that counts the records that its queries read.
type counted struct {
	*simulate.Session
	read float64
}

func (c *counted) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	c.read += q.Cohort().Size()
	return c.Session.Ask(ctx, q)
}

func (c *counted) Select(ctx context.Context, s query.Selection) (int, error) {
	if questions := s.Questions(); len(questions) > 0 {
		c.read += questions[0].Cohort().Size()
	}
	return c.Session.Select(ctx, s)
}

func (c *counted) OpenPrefix(p query.Prefix) (query.PrefixSum, error) {
	sum, err := c.Session.OpenPrefix(p)
	if err != nil {
		return nil, err
	}
	return countedSum{sum, c}, nil
}

type countedSum struct {
	query.PrefixSum
	session *counted
}

func (c countedSum) Add(ctx context.Context, terms ...query.Term) (query.Release, error) {
	if len(terms) > 0 {
		c.session.read += terms[0].Cohort().Size()
	}
	return c.PrefixSum.Add(ctx, terms...)
}

func (c *counted) Stable(ctx context.Context, q query.Stable) (query.Release, error) {
	c.read += q.Cohort().Size()
	return c.Session.Stable(ctx, q)
}
