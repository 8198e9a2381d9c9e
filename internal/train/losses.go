package train

import "github.com/stillpoint-dp/stillpoint/loss"

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
