package experiment

import (
	"errors"
	"fmt"
	"math"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
	"github.com/stillpoint-dp/stillpoint/internal/strictyaml"
)

// Spec is a grid of runs, read from a YAML file: every algorithm on every family at every
// dimension, epsilon and size, for some seeds. Unknown keys are errors.
type Spec struct {
	// Name is the title of the results.
	Name string `yaml:"name"`
	// Question is the question that the results answer; it is optional.
	Question string `yaml:"question"`
	// Families lists names of families of rows (see [NewFamily]).
	Families []string `yaml:"families"`
	// Dimensions lists values of the dimension d of the families.
	Dimensions []int `yaml:"dimensions"`
	// Rows is the number of distinct rows. Each distinct row stands for the same number of records. This
	// number is chosen so that the total number of records is closest to the requested size.
	Rows int `yaml:"rows"`
	// FamilySeed is the seed from which the families' rows are drawn. Zero is a seed like any other.
	FamilySeed uint64 `yaml:"family_seed"`
	// Records lists numbers of records n. Exactly one of Records and Effective must be given.
	Records []int `yaml:"records"`
	// Effective lists effective sizes N = n mu/sqrt(d).
	Effective []float64 `yaml:"effective"`
	// Epsilons lists the epsilons of the budgets.
	Epsilons []float64 `yaml:"epsilons"`
	// Delta is the delta of the budgets: a number, or a power of the number of records n such as n^-2. The
	// default is n^-1.5.
	Delta Delta `yaml:"delta"`
	// Relation is the neighbouring relation of the budgets. The default is replace-one.
	Relation string `yaml:"relation"`
	// Seeds is the number of measured runs of a cell, with seeds 1, 2, ...
	Seeds int `yaml:"seeds"`
	// TuningSeeds is the number of runs with which each combination of settings is tried, on seeds that no
	// measured run has. Zero means 2.
	TuningSeeds int `yaml:"tuning_seeds"`
	// Population, if > 0, is the number of fresh rows on which gradient norms are measured in addition to the
	// rows of the run.
	Population int `yaml:"population"`
	// If Gap is > 0, the smallest eigenvalue of the Hessian is computed at each result. Results with an
	// eigenvalue below -Gap/2 do not count as second-order points (see SecondOrder).
	Gap float64 `yaml:"gap"`
	// Workers is the number of runs at a time; zero means one for each core.
	Workers    int         `yaml:"workers"`
	Algorithms []Algorithm `yaml:"algorithms"`
}

// Algorithm is an algorithm of train.Algorithms or Options.Algorithms, with settings by their YAML
// keys.
type Algorithm struct {
	Name string `yaml:"name"`
	// Label is the algorithm's name in results; empty means Name.
	Label    string         `yaml:"label"`
	Settings map[string]any `yaml:"settings"`
	// Tune lists, for some settings, the values to choose from. For each family, dimension, epsilon and size
	// separately, all combinations are tried on the tuning seeds. The measured runs use the combination with
	// the smallest median excess risk, or with the smallest median gradient norm if the family's minimum is
	// not known.
	Tune map[string][]any `yaml:"tune"`
	// Scale lists values of settings that grow with the effective size. They are tried in the same
	// way as the values of Tune.
	Scale map[string]Scale `yaml:"scale"`
}

// Scale is the list of values f N^Power for each factor f in Factors, where N is the effective size. If
// Most is > 0, larger values are replaced by Most. For settings that are counts, values are rounded up to
// whole numbers of at least 1.
type Scale struct {
	Power   float64   `yaml:"power"`
	Factors []float64 `yaml:"factors"`
	Most    float64   `yaml:"most"`
}

// firstTuningSeed is the first seed of the runs that choose settings. It is above all seeds of
// measured runs.
const firstTuningSeed = 1 << 32

// mostSeeds is the largest number of seeds of measured runs, and of tuning runs. With it, measured runs and
// tuning runs have no seed in common.
const mostSeeds = 1 << 20

// ReadSpec reads a specification file and validates everything that does not need a family's rows.
func ReadSpec(path string) (*Spec, error) {
	text, err := regularfile.Read(path, strictyaml.Largest)
	if err != nil {
		return nil, fmt.Errorf("specification: %w", err)
	}
	s, err := ParseSpec(text)
	if err != nil {
		return nil, fmt.Errorf("specification %s: %w", path, err)
	}
	return s, nil
}

// ParseSpec reads a specification from the text of a file, as [ReadSpec] does, and sets the defaults.
func ParseSpec(text []byte) (*Spec, error) {
	s := new(Spec)
	if err := strictyaml.Decode(text, s); err != nil {
		return nil, err
	}
	if s.Question == "" {
		s.Question = "Which algorithm reaches the smallest gradient norm at the same budget, and how does it fall with " +
			"the size?"
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

// check returns an error for a required field that is missing and for a value out of range. Names
// of families and algorithms' settings are validated where they are used.
func (s *Spec) check() error {
	for _, list := range []struct {
		name  string
		count int
	}{
		{"families", len(s.Families)}, {"dimensions", len(s.Dimensions)}, {"epsilons", len(s.Epsilons)},
		{"algorithms", len(s.Algorithms)},
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
