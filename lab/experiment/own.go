package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// own has the algorithms of Options.Algorithms: algorithms of the calling program that package train does
// not register. The zero own has no algorithms.
type own struct {
	algorithms map[string]optimize.Algorithm
	// code is a digest of the running program, which identifies the version of these algorithms.
	code string
}

func newOwn(algorithms map[string]optimize.Algorithm) (own, error) {
	if len(algorithms) == 0 {
		return own{}, nil
	}
	for _, name := range slices.Sorted(maps.Keys(algorithms)) {
		switch {
		case name == "":
			return own{}, fmt.Errorf("experiment: algorithms: a name must be given")
		case slices.Contains(train.Algorithms(), name):
			return own{}, fmt.Errorf("experiment: algorithms: %s: must not be the name of a registered algorithm", name)
		case algorithms[name] == nil:
			return own{}, fmt.Errorf("experiment: algorithms: %s: must not be nil", name)
		}
	}
	code, err := program()
	return own{algorithms, code}, err
}

// program returns a digest of the executable file of this process.
func program() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("experiment: the running program: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("experiment: the running program: %w", err)
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", fmt.Errorf("experiment: the running program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// decode returns the algorithm of the calling program that the settings name, with these settings. It
// returns nil if the settings name an algorithm of package train.
func (o own) decode(text json.RawMessage) (optimize.Algorithm, error) {
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, nil // decodeSettings returns the error
	}
	name, _ := all["algorithm"].(string)
	a := o.algorithms[name]
	if a == nil {
		return nil, nil
	}
	delete(all, "algorithm")
	return train.With(a, all)
}

// codeOf returns the digest of the program if the settings name an algorithm of the calling program. It
// returns "" if they name an algorithm of package train.
func (o own) codeOf(text json.RawMessage) string {
	if a, err := o.decode(text); a == nil && err == nil {
		return ""
	}
	return o.code
}

// check returns an error for settings that the named algorithm does not accept. If neither package train
// nor this program has the algorithm, check returns nil, since only a program that has the algorithm can
// check its settings.
func (o own) check(name string, text json.RawMessage) error {
	if a, err := o.decode(text); a != nil || err != nil {
		return err
	}
	if !slices.Contains(train.Algorithms(), name) {
		return nil
	}
	_, err := decodeSettings(text)
	return err
}

// counts reports whether a setting of the named algorithm is a whole number.
func (o own) counts(name, key string) bool {
	if a := o.algorithms[name]; a != nil {
		return train.CountsOf(a, key)
	}
	return train.Counts(key)
}

// ownPlan makes the plan of an algorithm a of the calling program. err is the error of decoding its
// settings. If err is not nil, ownPlan returns it.
func (b *bench) ownPlan(ctx context.Context, a optimize.Algorithm, c Trial, s Instance, seed uint64,
	err error) (planned, error) {
	if err == nil {
		var problem optimize.Problem
		if problem, err = s.Problem(); err == nil {
			problem.Seed = seed
			var plan optimize.Plan
			if plan, err = a.Plan(ctx, problem); err == nil {
				return planned{plan: plan}, nil
			}
		}
	}
	return planned{}, fmt.Errorf("experiment: %v: %w", c, err)
}
