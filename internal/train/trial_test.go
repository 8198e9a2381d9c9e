package train

import (
	"context"
	"maps"
	"reflect"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train/trialtest"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// newcomer is an algorithm whose settings no other list mentions.
type newcomer struct {
	Steps  int             `yaml:"steps"`
	Damp   float64         `yaml:"damp"`
	Turns  int             `yaml:"turns"`
	Bold   bool            `yaml:"bold"`
	Leap   float64         `yaml:"leap" trial:"0.7"`
	Unsaid optimize.Output `yaml:"unsaid"`
	Rule   optimize.Output `yaml:"rule" trial:"last"`
}

func (newcomer) Plan(context.Context, optimize.Problem) (optimize.Plan, error) { return nil, nil }

// TestANewSettingEnrolsItself tests that Values has an entry for every setting of an algorithm as
// soon as the algorithm is in the registry. The given entries must come first, unchanged. A setting
// whose values are names is left out if its field has no tag.
func TestANewSettingEnrolsItself(t *testing.T) {
	kept := algorithms
	defer func() { algorithms = kept }()
	algorithms = append(kept[:len(kept):len(kept)], algorithm{"newcomer", newcomer{}})
	given := []Settings{{"steps": 9, "theorem": true}, {"bold": false}}
	for _, s := range settings(append(kept[:len(kept):len(kept)], selection)) {
		given = append(given, Settings{s.Key: "listed"})
	}
	got := trialtest.Values(given, settings(algorithms))
	if !reflect.DeepEqual(got[:len(given)], given) {
		t.Error("the entries given are not the first ones, unchanged")
	}
	more := Settings{}
	for _, s := range got[len(given):] {
		if len(s) != 1 {
			t.Errorf("%v: must set one setting", s)
		}
		maps.Copy(more, s)
	}
	if want := (Settings{"damp": .3, "turns": 3, "leap": .7, "rule": "last"}); !reflect.DeepEqual(more, want) {
		t.Errorf("%v: want %v", more, want)
	}
}

// selection is the output rule "selected" as an entry of the registry.
var selection = algorithm{selected, optimize.Selected{}}

// settings returns all settings of the given algorithms.
func settings(list []algorithm) (all []trialtest.Setting) {
	for _, a := range list {
		for _, s := range settingsOf(reflect.TypeOf(a.zero)) {
			all = append(all, trialtest.Setting(s))
		}
	}
	return all
}

// TestTrialsAreOfTheirType tests that every value to try is valid for the type of its setting.
func TestTrialsAreOfTheirType(t *testing.T) {
	list := trialtest.Values(nil, settings(append(algorithms[:len(algorithms):len(algorithms)], selection)))
	if len(list) < 40 {
		t.Fatalf("%d settings: too few", len(list))
	}
	for _, s := range list {
		for key, value := range s {
			f, ok := known(key)
			if !ok {
				t.Fatalf("%s: no setting", key)
			}
			if err := tried(f, key, value); err != nil {
				t.Error(err)
			}
		}
	}
}
