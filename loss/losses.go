package loss

import "strings"

var losses = registry[Loss]{kind: "loss", entries: map[string]entry[Loss]{
	"logistic":       {nil, func([]float64) (Loss, error) { return Logistic(), nil }},
	"tanh":           {nil, func([]float64) (Loss, error) { return Tanh(), nil }},
	"sigmoid":        {nil, func([]float64) (Loss, error) { return Sigmoid(), nil }},
	"smoothed-hinge": {[]string{"width"}, func(p []float64) (Loss, error) { return SmoothedHinge(p[0]) }},
	"huber":          {[]string{"delta"}, func(p []float64) (Loss, error) { return Huber(p[0]) }},
	"squared":        {[]string{"clip"}, func(p []float64) (Loss, error) { return Squared(p[0]) }},
	"welsch":         {[]string{"c"}, func(p []float64) (Loss, error) { return Welsch(p[0]) }},
	"geman-mcclure":  {[]string{"c"}, func(p []float64) (Loss, error) { return GemanMcClure(p[0]) }},
	"tukey":          {[]string{"c"}, func(p []float64) (Loss, error) { return Tukey(p[0]) }},
	"poisson":        {[]string{"clip"}, func(p []float64) (Loss, error) { return Poisson(p[0]) }},
	"poisson-rate":   {[]string{"clip", "least"}, func(p []float64) (Loss, error) { return PoissonRate(p[0], p[1]) }},
	"cloglog":        {[]string{"clip", "least"}, func(p []float64) (Loss, error) { return newCloglog(p[0], p[1]) }},
	"gamma":          {[]string{"clip", "least"}, func(p []float64) (Loss, error) { return newGamma(p[0], p[1]) }},
	"logit-hazard":   {[]string{"clip", "least"}, func(p []float64) (Loss, error) { return newLogitHazard(p[0], p[1]) }},
	"negbinomial": {[]string{"theta", "clip", "most"},
		func(p []float64) (Loss, error) { return newNegbinomial(p[0], p[1], p[2]) }},
	"negbinomial-rate": {[]string{"theta", "clip", "most", "least"}, func(p []float64) (Loss, error) {
		l, err := newNegbinomial(p[0], p[1], p[2])
		return exposedOf(p[3], l, err)
	}},
	"tweedie-rate": {[]string{"p", "clip", "mean", "most", "least"}, func(p []float64) (Loss, error) {
		l, err := newTweedie(p[0], p[1], p[2], p[3])
		return exposedOf(p[4], l, err)
	}},
	"tweedie": {[]string{"p", "clip", "mean", "most"},
		func(p []float64) (Loss, error) { return newTweedie(p[0], p[1], p[2], p[3]) }},
	"ordered": {[]string{"classes"}, func(p []float64) (Loss, error) { return newOrdered(p[0]) }},
	"softmax": {[]string{"classes"}, func(p []float64) (Loss, error) { return newSoftmax(p[0]) }},

	"absolute":            {nil, func([]float64) (Loss, error) { return Absolute(), nil }},
	"pinball":             {[]string{"tau"}, func(p []float64) (Loss, error) { return Pinball(p[0]) }},
	"epsilon-insensitive": {[]string{"e"}, func(p []float64) (Loss, error) { return EpsilonInsensitive(p[0]) }},
	"hinge":               {nil, func([]float64) (Loss, error) { return Hinge(), nil }},
	"capped-absolute":     {[]string{"c"}, func(p []float64) (Loss, error) { return CappedAbsolute(p[0]) }},
	"ramp":                {nil, func([]float64) (Loss, error) { return Ramp(), nil }},
}}

// Names returns the identifiers that New and Parse know, without parameters, sorted.
func Names() []string { return losses.names() }

// New makes a loss from its identifier and its parameters by name, as a configuration file gives them.
// docs/reference/losses.md lists all losses. Every parameter must be given. An error names the invalid parameter,
// its value and the allowed values, and, for an unknown identifier or parameter, the known ones.
func New(name string, params map[string]float64) (Loss, error) { return losses.new(name, params) }

// Parse makes the loss whose Name method returns name. It accepts the losses of New and the [Network], weighted and
// [Units] losses made of them. Numbers may be written in other forms, such as 0.10 for 0.1.
func Parse(name string) (Loss, error) { return ParseFor(name, 0) }

// ParseFor makes the loss whose Name method returns name, as [Parse] does. It also accepts the name
// "softmax" or "ordered" without a number, alone or inside another loss, if classes is above 0. This name means the
// loss of the given number of classes.
func ParseFor(name string, classes int) (Loss, error) {
	switch {
	case strings.HasPrefix(name, networkPrefix):
		return parseNetwork(name, classes)
	case strings.HasPrefix(name, weightedPrefix):
		return parseWeighted(name, classes)
	case strings.HasPrefix(name, unitsPrefix):
		return parseUnits(name, classes)
	case name == "softmax" && classes > 0:
		return Softmax(classes)
	case name == "ordered" && classes > 0:
		return newOrdered(float64(classes))
	}
	return losses.parse(name)
}
