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
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// LossHelp describes a loss that a configuration may name.
type LossHelp struct {
	// Text is the loss as a configuration names it, with an example of each parameter. Use is the task for
	// which the loss is meant, and Target the kind of target.
	Text, Use, Target string
	Convex, Corners   bool    // whether the loss is convex, and whether its slope jumps
	Steepest          float64 // the bound of a row's gradient with these parameters; infinite if there is none
}

// Losses returns the description of each loss: first the losses for two classes, then those for classes and
// those for numbers, each in the order of their names. It panics if a loss has no entry in lossUses.
func Losses() (list []LossHelp) {
	for _, kind := range []struct {
		target loss.Target
		text   string
	}{{loss.Binary, "two classes"}, {loss.Classes, "classes"}, {loss.Real, "a number"}} {
		for _, name := range loss.Names() {
			of := lossUses[name]
			l, err := loss.Parse(of.shown)
			if err != nil {
				panic("train: loss " + name + ": has no use: " + err.Error())
			}
			if l.Target() != kind.target {
				continue
			}
			c := l.Constants()
			_, corners := l.(loss.Kinked)
			list = append(list, LossHelp{of.shown, of.use, kind.text, c.Curvature.Lo >= 0, corners, c.Lipschitz})
		}
	}
	return list
}

// lossUses gives for each loss a text for configurations, with parameters if it has some, and the task
// for which it is meant.
var lossUses = map[string]struct{ shown, use string }{
	"logistic":       {"logistic", "two classes; probabilities"},
	"sigmoid":        {"sigmoid", "two classes; rows with a wrong class have little influence; not convex"},
	"tanh":           {"tanh", "two classes; like sigmoid, on another scale"},
	"smoothed-hinge": {"smoothed-hinge(0.5)", "two classes; a support-vector classifier with a rounded corner"},
	"hinge":          {"hinge", "two classes; a support-vector classifier"},
	"ramp":           {"ramp", "two classes; like hinge, but rows far on the wrong side have no influence"},
	"softmax": {"softmax(3)",
		"three classes or more; softmax(5) states their number, which softmax takes from target.classes"},
	"ordered": {"ordered(3)",
		"three ordered classes or more: proportional odds; " +
			"ordered(5) states their number, which ordered takes from target.classes"},
	"huber":    {"huber(0.1)", "numbers; between mean and median: outliers have a bounded influence"},
	"squared":  {"squared(0.5)", "numbers; least squares, with residuals clipped"},
	"absolute": {"absolute", "numbers; the median"},
	"pinball":  {"pinball(0.9)", "numbers; a quantile"},

	"epsilon-insensitive": {"epsilon-insensitive(0.1)", "numbers; support-vector regression"},
	"capped-absolute":     {"capped-absolute(0.5)", "numbers; like absolute, but rows with large residuals have no influence"},
	"welsch":              {"welsch(0.5)", "numbers; outliers have hardly any influence"},
	"geman-mcclure":       {"geman-mcclure(0.5)", "numbers; outliers have little influence"},
	"tukey":               {"tukey(0.5)", "numbers; outliers have no influence"},
	"poisson":             {"poisson(1)", "counts"},
	"cloglog":             {"cloglog(3,1.52587890625e-05)", "events whose time is known by its interval alone; follows from target.grouped"},
	"logit-hazard":        {"logit-hazard(3,1.52587890625e-05)", "the same with logit hazards; follows from target.grouped"},
	"gamma": {"gamma(5,0.001)",
		"costs and durations above 0, a product of factors; write gamma(5): the second number follows from the bounds"},
	"negbinomial": {"negbinomial(2,5,1000)",
		"overdispersed counts, of variance m + m^2/2 at the mean m; write negbinomial(2,5): the third number follows from the bounds"},
	"tweedie": {"tweedie(1.5,5,100,10000)",
		"costs with many zeros, of variance m^1.5, 100 being a typical mean; write tweedie(1.5,5,100): the last number follows"},
	"negbinomial-rate": {"negbinomial-rate(2,5,1000,0.1)", "overdispersed counts over different exposures; write negbinomial(2,5)"},
	"tweedie-rate":     {"tweedie-rate(1.5,5,100,10000,0.1)", "costs with many zeros over different exposures; write tweedie(1.5,5,100)"},
	"poisson-rate":     {"poisson-rate(1,0.1)", "counts over different exposures; the second parameter is the least exposure"},
}

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
	case t.Grouped == targetpair.Logit && (n == "" || n == hazardLoss):
		return logitLoss
	case t.Grouped != "" && (n == "" || n == hazardLoss):
		return groupedLoss
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
	hidden := vector.Map(w.Hidden, strconv.Itoa)
	name := fmt.Sprintf("network(%s,%s,%s", strings.Join(hidden, "-"), cmp.Or(w.Activation, "tanh"), w.Output)
	if w.Clip != 0 {
		name += fmt.Sprintf(",clip=%v", w.Clip)
	}
	if w.Seed != 0 {
		name += fmt.Sprintf(",seed=%d", w.Seed)
	}
	return LossName(name + ")")
}
