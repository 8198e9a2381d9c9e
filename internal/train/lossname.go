package train

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// LossName is the name of a loss in the notation of package loss. A configuration may instead describe a
// network by keys:
//
//	loss: {network: {hidden: [32, 16], activation: tanh, output: logistic}}
//
// The keys clip and seed override the network's defaults.
type LossName string

// of returns the name with what the target states: a gamma(clip) gets the ratio of the target's bounds as its last
// number, and negbinomial(theta,clip) and tweedie(p,clip,mean) the upper bound.
func (n LossName) of(t dataset.Target) string {
	switch {
	case t.Grouped != "" && (n == "" || n == hazardLoss):
		return map[bool]string{false: groupedLoss, true: logitLoss}[t.Grouped == targetpair.Logit]
	case t.Event != "" && (n == "" || n == hazardLoss):
		return "poisson(" + hazardClip + ")"
	case t.Kind != dataset.Number:
		return string(n)
	}
	number := func(v float64) string { return "${1}," + strconv.FormatFloat(v, 'g', -1, 64) + ")" }
	text := gammaOfBounds.ReplaceAllString(string(n), number(t.Low/t.High))
	return quasiOfBounds.ReplaceAllString(text, number(t.High))
}

// gammaOfBounds and quasiOfBounds match losses without the number that follows from the target's bounds.
var (
	gammaOfBounds = regexp.MustCompile(`\b(gamma\([^,()]*)\)`)
	quasiOfBounds = regexp.MustCompile(`\b(negbinomial\([^,()]*,[^,()]*|tweedie\([^,()]*,[^,()]*,[^,()]*)\)`)
)

// finest is the largest rounding of a stored number as a share of what numbers must be told apart by.
const finest = 1. / 32

// checkRounding returns an error if stored numbers are too coarse for a loss of relative residuals. A number beside a
// weight, an exposure or an offset is stored with them, rounded to a share of the bounds (targetpair.Join).
func checkRounding(t dataset.Target, l loss.Loss) error {
	of, ok := loss.Unweighted(l).(interface{ Grain() (float64, string) })
	if !ok || t.Weight == "" && t.Exposure.Column == "" {
		return nil
	}
	grain, text := of.Grain()
	rounding := targetpair.Rounding * (t.High - t.Low) / 2
	if most := finest * grain * t.High; rounding > most {
		return fmt.Errorf("schema.target %q: number = [%v, %v]: must have bounds at most %.2g apart for loss %s beside a "+
			"weight, an exposure or an offset: the stored numbers are multiples of %.2g, which must be at most 1/32 of %s, %.3g",
			t.Column, t.Low, t.High, 2*most/targetpair.Rounding, l.Name(), rounding, text, grain*t.High)
	}
	return nil
}

// network is a network as the keys of a configuration describe it. Zero values mean the defaults.
type network struct {
	Hidden     []int   `yaml:"hidden"`
	Activation string  `yaml:"activation"`
	Output     string  `yaml:"output"`
	Clip       float64 `yaml:"clip"`
	Seed       uint64  `yaml:"seed"`
}

// UnmarshalYAML reads a name or the keys of a network. It stores a network as its name in the notation of
// package loss.
func (n *LossName) UnmarshalYAML(unmarshal func(any) error) error {
	var name string
	if unmarshal(&name) == nil {
		*n = LossName(name)
		return nil
	}
	var written struct {
		Network *network `yaml:"network"`
	}
	if err := unmarshal(&written); err != nil {
		return err
	}
	if written.Network == nil {
		return errors.New("model.loss: must be a name or {network: {hidden: [16], activation: tanh, output: logistic}}")
	}
	*n = written.Network.name()
	return nil
}

// name returns the network in the notation of package loss. It does not check the network; loss.Parse reports
// missing or invalid parts later.
func (w network) name() LossName {
	hidden := make([]string, len(w.Hidden))
	for i, m := range w.Hidden {
		hidden[i] = strconv.Itoa(m)
	}
	name := fmt.Sprintf("network(%s,%s,%s", strings.Join(hidden, "-"), cmp.Or(w.Activation, "tanh"), w.Output)
	if w.Clip != 0 {
		name += fmt.Sprintf(",clip=%v", w.Clip)
	}
	if w.Seed != 0 {
		name += fmt.Sprintf(",seed=%d", w.Seed)
	}
	return LossName(name + ")")
}
