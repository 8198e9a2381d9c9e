package experiment

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/regular"
	"github.com/stillpoint-dp/stillpoint/internal/strictyaml"
)

// Spec is a grid of runs as its YAML file describes it: every algorithm on
// every family at every dimension, epsilon and size, over some seeds. Unknown
// keys are errors.
type Spec struct {
	// Name titles the results; Question, which may be left out, says what they are
	// for.
	Name     string `yaml:"name"`
	Question string `yaml:"question"`
	// Families are names of NewFamily; Dimensions their d.
	Families   []string `yaml:"families"`
	Dimensions []int    `yaml:"dimensions"`
	// Rows is the number of distinct rows. Each stands for as many records as
	// makes their number closest to what is asked for, and is read once a pass.
	Rows int `yaml:"rows"`
	// FamilySeed draws the families; zero is a seed, too.
	FamilySeed uint64 `yaml:"family_seed"`
	// Records are numbers of records n; Effective, in their place, effective
	// sizes N = n mu/sqrt(d).
	Records   []int     `yaml:"records"`
	Effective []float64 `yaml:"effective"`
	// Epsilons, Delta and Relation are the budgets. Delta is a number or a power
	// of n; without one n^-1.5. Relation is replace-one if not given.
	Epsilons []float64 `yaml:"epsilons"`
	Delta    Delta     `yaml:"delta"`
	Relation string    `yaml:"relation"`
	// Seeds is how many runs a cell has, of seeds 1, 2, ...; TuningSeeds how
	// many other seeds a setting is chosen by, zero meaning 2.
	Seeds       int `yaml:"seeds"`
	TuningSeeds int `yaml:"tuning_seeds"`
	// Population, if > 0, is how many fresh rows gradients are measured on as
	// well.
	Population int `yaml:"population"`
	// Gap, if > 0, has the least eigenvalue of the Hessian worked out at outputs, and says
	// how far below zero it counts (see SecondOrder).
	Gap float64 `yaml:"gap"`
	// Workers is how many runs go on at a time; zero means one a core.
	Workers    int         `yaml:"workers"`
	Algorithms []Algorithm `yaml:"algorithms"`
}

// Algorithm is one of train.Algorithms with settings of train.Train, by its
// YAML keys.
type Algorithm struct {
	Name string `yaml:"name"`
	// Label names it in results; empty for Name.
	Label    string         `yaml:"label"`
	Settings map[string]any `yaml:"settings"`
	// Tune lists values of settings to choose from, in all combinations: the
	// combination of the least median excess risk over the tuning seeds, or gradient
	// norm where the family's minimum is not known, in each cell of its own, is
	// measured.
	Tune map[string][]any `yaml:"tune"`
	// Scale lists values to choose from that grow with the size.
	Scale map[string]Scale `yaml:"scale"`
}

// Scale is a list of values factor N^Power, N the effective size: rounded up
// to whole numbers between 1 and Most (if > 0) for settings that count.
type Scale struct {
	Power   float64   `yaml:"power"`
	Factors []float64 `yaml:"factors"`
	Most    float64   `yaml:"most"`
}

// firstTuningSeed is above all seeds of measured runs.
const firstTuningSeed = 1 << 32

// mostSeeds keeps them apart.
const mostSeeds = 1 << 20

// ReadSpec reads a specification file and checks it as far as it can be
// without drawing a family.
func ReadSpec(path string) (*Spec, error) {
	text, err := regular.Read(path, strictyaml.Largest)
	if err != nil {
		return nil, fmt.Errorf("specification: %w", err)
	}
	s, err := ParseSpec(text)
	if err != nil {
		return nil, fmt.Errorf("specification %s: %w", path, err)
	}
	return s, nil
}

// ParseSpec is ReadSpec of a file's text.
func ParseSpec(text []byte) (*Spec, error) {
	s := new(Spec)
	if err := strictyaml.Decode(text, s); err != nil {
		return nil, err
	}
	if s.Question == "" {
		s.Question = "Which algorithm reaches the smallest gradient norm at the same budget, and how does it fall with the size?"
	}
	if s.Delta == (Delta{}) {
		s.Delta.Power = -1.5
	}
	if s.Relation == "" {
		s.Relation = account.ReplaceOne.String()
	}
	if s.TuningSeeds == 0 {
		s.TuningSeeds = 2
	}
	for i := range s.Algorithms {
		if a := &s.Algorithms[i]; a.Label == "" {
			a.Label = a.Name
		}
	}
	return s, s.check()
}

// check finds what is missing or twice; values are checked by what uses them.
func (s *Spec) check() error {
	for _, list := range []struct {
		name  string
		count int
	}{
		{"families", len(s.Families)}, {"dimensions", len(s.Dimensions)}, {"epsilons", len(s.Epsilons)}, {"algorithms", len(s.Algorithms)},
	} {
		if list.count == 0 {
			return fmt.Errorf("%s: must list at least one", list.name)
		}
	}
	if _, err := account.ParseRelation(s.Relation); err != nil {
		return fmt.Errorf("relation: %w", err)
	}
	switch {
	case s.Name == "":
		return errors.New("name: must be given")
	case (len(s.Records) == 0) == (len(s.Effective) == 0):
		return errors.New("records, effective: exactly one of them must list sizes")
	case s.Rows < 2:
		return fmt.Errorf("rows = %d: must be >= 2", s.Rows)
	case s.Seeds < 1 || s.Seeds > mostSeeds:
		return fmt.Errorf("seeds = %d: must be between 1 and %d", s.Seeds, mostSeeds)
	case s.TuningSeeds < 0 || s.TuningSeeds > mostSeeds:
		return fmt.Errorf("tuning_seeds = %d: must be between 1 and %d, or 0 for 2", s.TuningSeeds, mostSeeds)
	case s.Population < 0 || s.Population == 1:
		return fmt.Errorf("population = %d: must be >= 2, or 0 for none", s.Population)
	case !(s.Gap >= 0) || math.IsInf(s.Gap, 1):
		return fmt.Errorf("gap = %v: must be finite and > 0, or 0 for no eigenvalues", s.Gap)
	case s.Workers < 0:
		return fmt.Errorf("workers = %d: must be >= 1, or 0 for one a core", s.Workers)
	}
	for _, n := range s.Records {
		if n < s.Rows || n > mostRecords {
			return fmt.Errorf("records: %d: must be between the %d distinct rows and %d", n, s.Rows, int64(mostRecords))
		}
	}
	for _, n := range s.Effective {
		if !(n > 0) {
			return fmt.Errorf("effective: %v: must be finite and > 0", n)
		}
	}
	labels := map[string]bool{}
	for _, a := range s.Algorithms {
		if a.Name == "" {
			return errors.New("algorithms: name: must be given")
		}
		if labels[a.Label] {
			return fmt.Errorf("algorithms: label %q: is there twice", a.Label)
		}
		labels[a.Label] = true
		if err := a.check(); err != nil {
			return fmt.Errorf("algorithms: %s: %w", a.Label, err)
		}
	}
	return nil
}
