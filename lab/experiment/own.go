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
	"reflect"
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
	return with(a, all)
}

// with returns a copy of the algorithm a with the given settings. A key must be the YAML key of a field of a's type, and
// the value must have the field's type; otherwise with returns an error. Other fields keep their values.
func with(a optimize.Algorithm, settings map[string]any) (optimize.Algorithm, error) {
	if len(settings) == 0 {
		return a, nil
	}
	t := reflect.TypeOf(a)
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("settings: %T has none: must be a struct with fields that have a YAML key", a)
	}
	own := reflect.New(t).Elem()
	own.Set(reflect.ValueOf(a))
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if err := train.SetField(own, key, settings[key]); err != nil {
			return nil, fmt.Errorf("%T: %w", a, err)
		}
	}
	return own.Interface().(optimize.Algorithm), nil
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
		t := reflect.TypeOf(a)
		return t.Kind() == reflect.Struct && slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
			return f.Tag.Get("yaml") == key && f.Type.Kind() == reflect.Int
		})
	}
	for _, name := range append(train.Algorithms(), "selected") {
		for _, s := range train.HelpOf(name) {
			if s.Key == key {
				return s.Type == "whole number"
			}
		}
	}
	return false
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
