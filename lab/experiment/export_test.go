package experiment

import "encoding/json"

// Grid is Algorithm.grid.
func Grid(a Algorithm, effective float64) ([]json.RawMessage, error) { return a.grid(effective, own{}) }

// Trials lists all tuning runs and, for every combination of settings, the measured runs.
func Trials(s *Spec) []Trial {
	cells, err := s.cells(own{})
	if err != nil {
		panic(err)
	}
	var all []Trial
	for _, c := range cells {
		all = append(all, c.tuning(s.TuningSeeds)...)
		all = append(all, c.runs(c.grid, 1, s.Seeds)...)
	}
	return all
}

// Finite is finite.
func Finite(x float64) float64 { return finite(x) }
