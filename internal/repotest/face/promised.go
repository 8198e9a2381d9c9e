package face

// Promised lists the packages that keep their exported names from version to version, relative to the module's root.
// Every other importable package says in the first line of its documentation that it is not frozen.
var Promised = []string{
	".", "account", "account/mechanism", "budget", "budget/stores", "certificate", "convex", "dataset", "export", "loss",
	"losstest", "model", "model/contrast",
}
