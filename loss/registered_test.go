package loss_test

// registered has a row for each name of a loss: its texts, with parameters of different sizes, which go through the
// conformance suite, and the hash of its results for one text ([TestBitsAgreeAcrossMachines]). Model files store the
// names: a change of a name makes old files unreadable.
var registered = map[string]struct {
	texts []string
	bits  string
	hash  uint64
}{
	"logistic": {[]string{"logistic"},
		"logistic", 0xdc9ac071ded93081},
	"tanh": {[]string{"tanh"},
		"tanh", 0xf9bfe45803c81b88},
	"sigmoid": {[]string{"sigmoid"},
		"sigmoid", 0xe08d8a16d9f18fc4},
	"smoothed-hinge": {[]string{"smoothed-hinge(0.01)", "smoothed-hinge(0.5)", "smoothed-hinge(1)", "smoothed-hinge(3)"},
		"smoothed-hinge(0.3)", 0x1fcf87101dadb69b},
	"huber": {[]string{"huber(0.001)", "huber(0.1)", "huber(1)", "huber(20)"},
		"huber(0.3)", 0x8e6832e727aa47b0},
	"squared": {[]string{"squared(0.05)", "squared(1)", "squared(4)"},
		"squared(0.3)", 0x4911899526309363},
	"poisson": {[]string{"poisson(0.05)", "poisson(0.6)", "poisson(1)", "poisson(4)"},
		"poisson(0.3)", 0xe7fe746fea545794},
	"poisson-rate": {[]string{"poisson-rate(0.6,0.01)", "poisson-rate(1,0.5)"},
		"poisson-rate(0.3,0.5)", 0xe7fe746fea545794},
	"gamma": {[]string{"gamma(0.3,0.01)", "gamma(1,0.5)", "gamma(5,1e-07)"},
		"gamma(3,0.001)", 0x0fe68897f1a57233},
	"negbinomial": {[]string{"negbinomial(0.5,5,1000)", "negbinomial(2,0.4,10)", "negbinomial(30,2,8)"},
		"negbinomial(2,3,50)", 0x20b3f2e70e3a6132},
	"tweedie": {[]string{"tweedie(1.5,5,100,10000)", "tweedie(1.2,0.5,1,3)", "tweedie(1.9,2,50,1e+06)"},
		"tweedie(1.6,3,10,200)", 0x3bc5564a5d987fb4},
	"negbinomial-rate": {[]string{"negbinomial-rate(0.5,5,1000,0.1)", "negbinomial-rate(2,0.4,10,0.01)"},
		"negbinomial-rate(2,3,50,0.5)", 0x20b3f2e70e3a6132},
	"tweedie-rate": {[]string{"tweedie-rate(1.5,5,100,10000,0.1)", "tweedie-rate(1.2,0.5,1,3,0.02)"},
		"tweedie-rate(1.6,3,10,200,0.5)", 0x3bc5564a5d987fb4},
	"welsch": {[]string{"welsch(1e-06)", "welsch(0.01)", "welsch(0.7)", "welsch(1)", "welsch(50)"},
		"welsch(0.3)", 0x65e8e0165a854515},
	"geman-mcclure": {[]string{"geman-mcclure(0.01)", "geman-mcclure(0.7)", "geman-mcclure(1)", "geman-mcclure(50)"},
		"geman-mcclure(0.3)", 0xe3934fff67d2f137},
	"tukey": {[]string{"tukey(0.01)", "tukey(0.7)", "tukey(1)", "tukey(4.685)", "tukey(50)", "tukey(1e+06)"},
		"tukey(2.3)", 0xb054205ae72b77b6},
	"softmax": {[]string{"softmax(3)", "softmax(7)"},
		"softmax(3)", 0xe7165253af4ac8ab},
	"ordered": {[]string{"ordered(3)", "ordered(4)", "ordered(7)"},
		"ordered(4)", 0x1f9c3a3a7171bd00},
	"absolute": {[]string{"absolute"},
		"absolute", 0xbea7b4c1b31437c2},
	"pinball": {[]string{"pinball(0.001)", "pinball(0.5)", "pinball(0.9)"},
		"pinball(0.3)", 0xd44f0cf5ed0cdc6c},
	"epsilon-insensitive": {[]string{"epsilon-insensitive(1e-06)", "epsilon-insensitive(0.1)", "epsilon-insensitive(0.9)"},
		"epsilon-insensitive(0.3)", 0xeb231614feb138f3},
	"hinge": {[]string{"hinge"},
		"hinge", 0x1b76572cfebcf558},
	"capped-absolute": {[]string{"capped-absolute(0.01)", "capped-absolute(0.7)", "capped-absolute(50)"},
		"capped-absolute(0.3)", 0x4e8c6c02200d117e},
	"ramp": {[]string{"ramp"},
		"ramp", 0xa2e8a77e2baeb7f9},
}
