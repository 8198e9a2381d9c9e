package experiment

import (
	"encoding/json"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
)

// cell is one point of a specification's grid: an algorithm on a family of rows, at one dimension,
// size and budget.
type cell struct {
	// base is the trial that all runs of the cell share, without Settings and Seed.
	base      Trial
	effective float64
	name      string
	grid      []json.RawMessage
}

// cells lists the points of the grid, in the order of the specification, with algorithms in the innermost
// loop. It draws no rows.
func (s *Spec) cells(mine own) ([]cell, error) {
	relation, err := account.ParseRelation(s.Relation)
	if err != nil {
		return nil, err
	}
	var list []cell
	for _, family := range s.Families {
		for _, d := range s.Dimensions {
			for _, epsilon := range s.Epsilons {
				for i := range max(len(s.Records), len(s.Effective)) {
					c := Trial{
						Family: family, FamilySeed: s.FamilySeed, Dim: d, Rows: s.Rows,
						Epsilon: epsilon, Relation: s.Relation, Population: s.Population, Gap: s.Gap,
					}
					var b account.Budget
					if len(s.Effective) > 0 {
						c.Repeat, b, err = repeatFor(d, s.Rows, s.Effective[i], epsilon, s.Delta, relation)
					} else {
						c.Repeat = int(math.Round(float64(s.Records[i]) / float64(s.Rows)))
						b, err = account.NewBudget(epsilon, s.Delta.at(float64(c.Records())), relation)
					}
					if err != nil {
						return nil, err
					}
					c.Delta = b.Delta()
					effective := effectiveSize(d, float64(c.Records()), b)
					for _, a := range s.Algorithms {
						c.Label = a.Label
						grid, err := a.grid(effective, mine)
						if err != nil {
							return nil, err
						}
						list = append(list, cell{c, effective, a.Name, grid})
					}
				}
			}
		}
	}
	return list, nil
}

// tuning returns the runs from which the cell's settings are chosen. The list is empty if there is only one
// combination of settings.
func (c cell) tuning(seeds int) []Trial {
	if len(c.grid) == 1 {
		return nil
	}
	return c.runs(c.grid, firstTuningSeed, seeds)
}

// measured lists the runs that measure the cell with the given settings, one for each seed.
func (c cell) measured(settings json.RawMessage, seeds int) []Trial {
	return c.runs([]json.RawMessage{settings}, 1, seeds)
}

func (c cell) runs(grid []json.RawMessage, first uint64, seeds int) []Trial {
	var list []Trial
	for _, settings := range grid {
		for i := range seeds {
			r := c.base
			r.Settings, r.Seed = settings, first+uint64(i)
			list = append(list, r)
		}
	}
	return list
}

// choose returns the settings with the smallest median excess risk over the tuning seeds. If the
// objective's minimum is not known, it uses the median gradient norm instead. Among settings with equal
// medians it returns the first. ok is false if tuning runs are missing.
func (c cell) choose(done map[string]Finished, seeds int) (settings json.RawMessage, ok bool) {
	if len(c.grid) == 1 {
		return c.grid[0], true
	}
	best := math.Inf(1)
	for _, g := range c.grid {
		var norms []float64
		for _, r := range c.runs([]json.RawMessage{g}, firstTuningSeed, seeds) {
			record, there := done[r.Key()]
			if !there {
				return nil, false
			}
			norms = append(norms, record.Outcome.score())
		}
		if m := Median(norms); m < best {
			best, settings = m, g
		}
	}
	return settings, true
}
