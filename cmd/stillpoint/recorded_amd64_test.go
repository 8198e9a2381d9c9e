package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget/stores"
	"github.com/stillpoint-dp/stillpoint/curator/simulate"
	"github.com/stillpoint-dp/stillpoint/internal/recordedtest"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// recordedFolder is the folder of recorded outputs, also for tests in other folders.
var recordedFolder, _ = filepath.Abs(filepath.Join("testdata", "recorded"))

// Columns of the recorded plans.
const (
	fewColumns  = `age: {number: [17, 90]}, sex: {category: [f, m]}, town: {hash: 7}`
	numbersOnly = `age: {number: [17, 90]}, pay: {number: [0, 70000], transform: log1p}, born: {date: [1950-01-01, 2020-12-31]}`
	levelsOnly  = `sex: {category: [f, m]}, town: {hash: 23}, split: {public: [train, test]}, note: ignore`
	curvedOnes  = `age: {number: [17, 90], curve: auto, monotone: up}, pay: {number: [0, 70000], curve: [0, 900, 8000, 70000]}, hours: {number: [0, 80], curve: 5}`
	fewLevels   = `age: {number: [17, 90]}, sex: {category: [f, m]}, ward: {category: [a, b, c, d], reference: c}`
	wideColumns = `town: {hash: 1900}, age: {number: [17, 90]}`
)

// Targets of the recorded plans.
const (
	twoClasses   = `{column: ill, classes: ["no", "yes"]}`
	rareClass    = `{column: ill, classes: ["no", "yes"], share: 0.07}`
	threeClasses = `{column: kind, classes: [r, g, b]}`
	unlikeShares = `{column: kind, classes: [r, g, b], share: [0.2, 0.7, 0.1]}`
	cost         = `{column: cost, number: [0, 700]}`
	positive     = `{column: cost, number: [3, 700]}`
	claims       = `{column: claims, number: [0, 9]}`
	rareClaims   = `{column: claims, number: [0, 9], share: 0.4}`
	exposed      = `{column: claims, number: [0, 9], exposure: {column: years, number: [0.1, 1]}}`
	weighted     = `{column: cost, number: [0, 700], weight: w}`
	died         = `{time: days, event: died, cuts: [30, 90, 365]}`
	rarelyDied   = `{time: days, event: died, cuts: [30, 90, 365], share: 0.06}`
	groupedDied  = `{time: days, event: died, cuts: [30, 90, 365], grouped: true}`
	logitDied    = `{time: days, event: died, cuts: [30, 90, 365], grouped: logit}`
	changingDied = `{time: days, event: died, entry: start, cuts: [30, 90, 365], changing: sex}`
)

// recordedPlan is a configuration whose plan is recorded. Its budget is epsilon, delta and the number of records, and
// the word add for add-or-remove.
type recordedPlan struct{ columns, target, model, budget, more string }

// text returns the configuration. The lines of more that begin with a blank belong to the schema.
func (p recordedPlan) text() string {
	var epsilon, delta, records, add string
	fmt.Sscan(p.budget+" -", &epsilon, &delta, &records, &add)
	relation := "replace-one"
	if add == "add" {
		relation = "add-or-remove"
	}
	var schema, rest []string
	for _, line := range strings.Split(p.more, "; ") {
		if strings.HasPrefix(line, " ") {
			schema = append(schema, line+"\n")
		} else if line != "" {
			rest = append(rest, line+"\n")
		}
	}
	data := "data: t.csv\n"
	if slices.ContainsFunc(rest, func(s string) bool { return strings.HasPrefix(s, "data: ") }) {
		data = ""
	}
	return data + "schema:\n  columns: {" + p.columns + "}\n  target: " + p.target + "\n" + strings.Join(schema, "") +
		"model: {" + p.model + "}\nprivacy: {epsilon: " + epsilon + ", delta: " + delta + ", relation: " + relation +
		", records: " + records + "}\n" + strings.Join(rest, "")
}

// recordedPlans are the configurations. Each comes after those that it resembles: lines of a plan that stand in one of
// the forty plans before it are not recorded again.
var recordedPlans = []recordedPlan{
	// The families, and sizes on both sides of their limits.
	{fewColumns, twoClasses, "loss: logistic", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic", "1.7 3e-6 2900", ""},
	{fewColumns, twoClasses, "loss: logistic", "0.7 3e-6 700", ""},
	{fewColumns, twoClasses, "loss: logistic", "0.7 3e-6 190", ""},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, family: curves", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, family: effects", "1.7 3e-6 90000", ""},
	{fewColumns, rareClass, "loss: logistic", "1.7 3e-6 23000", ""},
	{fewColumns, rareClass, "loss: logistic, family: lines", "1.7 3e-6 41000 add", ""},
	{fewColumns, rareClass, "loss: logistic, weights: {\"yes\": 5}", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, features: \"effects(5,400)\"", "1.7 3e-6 90000", ""},
	{curvedOnes, twoClasses, "loss: logistic", "1.3 3e-6 41000", ""},
	{curvedOnes, twoClasses, "loss: logistic", "1.3 3e-6 4100", "  interactions: [[hours, pay]]"},
	{curvedOnes, twoClasses, "loss: logistic", "1.3 3e-6 900000", "train: {ranks: 0.03, compare: 0.07, base: 0.011}"},
	{curvedOnes, cost, "loss: huber(0.2)", "1.3 3e-6 41000", "train: {ranks: off}"},
	{levelsOnly, twoClasses, "loss: logistic", "1.3 3e-6 41000", "  where: split=train"},
	{numbersOnly, cost, "loss: squared(0.7)", "1.3 3e-6 41000", ""},
	{numbersOnly, cost, "loss: squared(0.7)", "1.3 3e-6 4100", ""},
	{numbersOnly, cost, "loss: huber(0.2), family: lines", "1.3 3e-6 900", ""},
	{numbersOnly, cost, "loss: huber(0.2), family: effects", "1.3 3e-6 9000", ""},
	{numbersOnly, weighted, "loss: squared(0.7), family: lines", "1.3 3e-6 41000", ""},
	// Budgets that are too large, and tables that are too small.
	{fewColumns, twoClasses, "loss: logistic, family: lines", "11.5 0.003 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "0.03 3e-6 170", ""},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "0.03 3e-6 170", "train: {algorithm: gd}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "0.03 3e-6 170", "train: {algorithm: gd, steps: 8}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "0.13 3e-6 1700", "train: {algorithm: gd, steps: 800}"},
	{wideColumns, twoClasses, "loss: logistic", "1.7 3e-6 2300", ""},
	{wideColumns, twoClasses, "loss: logistic", "1.7 3e-6 2300000", ""},
	{wideColumns, twoClasses, "loss: logistic, reduce: jl(auto)", "1.7 3e-6 2300", ""},
	{wideColumns, twoClasses, "loss: logistic, reduce: \"jl(45,8)\"", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, reduce: \"jl(auto,9)\"", "1.7 3e-6 23000", ""},
	{wideColumns, unlikeShares, "loss: softmax", "1.7 3e-6 230000", ""},
	// Classes.
	{fewColumns, threeClasses, "loss: softmax", "1.7 3e-6 23000", ""},
	{fewColumns, unlikeShares, "loss: softmax", "1.7 3e-6 23000 add", ""},
	{fewColumns, unlikeShares, "loss: softmax, weights: {r: 2}", "1.7 3e-6 230000", ""},
	{fewColumns, unlikeShares, "loss: ordered", "1.7 3e-6 230000", ""},
	{fewColumns, twoClasses, "loss: sigmoid", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: tanh", "0.7 3e-6 2300", ""},
	{fewColumns, twoClasses, "loss: smoothed-hinge(0.3)", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: hinge", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: hinge", "0.7 3e-6 900", ""},
	{fewColumns, twoClasses, "loss: ramp", "1.7 3e-6 230000", ""},
	// Networks.
	{fewColumns, twoClasses, "loss: {network: {hidden: [7], activation: tanh, output: logistic, clip: 3, seed: 4}}", "1.7 3e-6 230000", ""},
	{fewColumns, twoClasses, "loss: {network: {hidden: [7, 3], activation: relu, output: logistic}}", "1.7 3e-6 230000", ""},
	{fewColumns, threeClasses, "loss: {network: {hidden: [7], activation: tanh, output: softmax}}", "1.7 3e-6 230000", "train: {passes: 5}"},
	{fewColumns, twoClasses, "loss: {network: {hidden: [7], activation: tanh, output: logistic}}", "1.7 3e-6 230000", "train: {passes: 13}"},
	// Numbers.
	{fewColumns, cost, "loss: absolute", "1.7 3e-6 23000", ""},
	{fewColumns, cost, "loss: pinball(0.9)", "1.7 3e-6 23000", ""},
	{fewColumns, cost, "loss: epsilon-insensitive(0.1)", "1.7 3e-6 23000", ""},
	{fewColumns, cost, "loss: welsch(0.4)", "1.7 3e-6 23000", ""},
	{fewColumns, cost, "loss: capped-absolute(0.4)", "1.7 3e-6 23000", ""},
	{fewColumns, cost, "loss: tukey(0.4)", "0.2 3e-6 2300", ""},
	{fewColumns, positive, "loss: gamma(5)", "1.7 3e-6 23000", ""},
	{fewColumns, positive, "loss: gamma(11)", "1.7 3e-6 23000", ""},
	// Counts.
	{fewColumns, claims, "loss: poisson(2)", "1.7 3e-6 23000", ""},
	{fewColumns, rareClaims, "loss: poisson(2)", "1.7 3e-6 230000", ""},
	{fewColumns, exposed, "loss: poisson(2)", "1.7 3e-6 23000", ""},
	{fewColumns, rareClaims, "loss: \"negbinomial(2,5)\"", "1.7 3e-6 230000", ""},
	{fewColumns, cost, "loss: \"tweedie(1.5,5,100)\"", "1.7 3e-6 23000", ""},
	// Times to an event.
	{fewColumns, died, "loss: hazard", "1.7 3e-6 23000", ""},
	{fewColumns, rarelyDied, "loss: hazard", "1.7 3e-6 230000 add", ""},
	{fewColumns, groupedDied, "loss: hazard", "1.7 3e-6 23000", ""},
	{fewColumns, logitDied, "loss: hazard, family: curves", "1.7 3e-6 23000", ""},
	{fewColumns, changingDied, "loss: hazard", "1.7 3e-6 23000", ""},
	{fewColumns, died, "loss: hazard, start: {rate: 0.3}", "1.7 3e-6 23000", "train: {compare: off}"},
	// Starts that are stated, and releases that are turned off.
	{fewColumns, twoClasses, "loss: logistic, start: {share: 0.03}", "1.7 3e-6 23000", ""},
	{fewColumns, threeClasses, "loss: softmax, start: {shares: [0.2, 0.7, 0.1]}", "1.7 3e-6 23000", ""},
	{fewColumns, cost, "loss: huber(0.2), start: {value: 40}", "1.7 3e-6 23000", ""},
	{fewColumns, claims, "loss: poisson(2), start: {rate: 0.3}", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {base: off, compare: off, ranks: off}"},
	{fewColumns, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {measure: 0.05, compare: 0.03}"},
	// Intervals.
	{fewLevels, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewLevels, rareClass, "loss: logistic, family: lines", "1.7 3e-6 230000 add", "inference: {level: 0.8, rows: unweighted}"},
	{fewLevels, twoClasses, "loss: logistic, family: curves", "1.7 3e-6 23000", "inference: {level: 0.95}"},
	{fewLevels, unlikeShares, "loss: softmax, family: lines", "1.7 3e-6 230000", "inference: {level: 0.9}"},
	{fewLevels, unlikeShares, "loss: ordered, family: lines", "1.7 3e-6 230000", "inference: {level: 0.9}"},
	{fewLevels, cost, "loss: squared(0.7), family: lines", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewLevels, claims, "loss: poisson(0.6), family: lines", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewLevels, died, "loss: hazard, family: lines", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewLevels, twoClasses, "loss: logistic, family: lines", "0.2 3e-6 700", "inference: {level: 0.9}"},
	// Units of several rows, and how the table is stored.
	{fewColumns, twoClasses, "loss: logistic", "1.7 3e-6 23000", "  unit: {column: who, rows: 7}"},
	{fewColumns, twoClasses, "loss: logistic, units: sum", "1.7 3e-6 23000 add", "  unit: {column: who, rows: 7}"},
	{levelsOnly, twoClasses, "loss: logistic", "1.7 3e-6 23000 add", "  unit: {column: who, rows: 3};   where: split=train"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 2300000", "data: t.csv.gz; memory: {gigabytes: 0.03}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 230000000", "data: t.parquet"},
	{wideColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 990000000", "data: t.csv.zst"},
	// What auto compares.
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "train: {goal: population}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "train: {goal: excess-risk}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "train: {goal: second-order}"},
	{fewColumns, twoClasses, "loss: tanh, family: lines", "1.7 3e-6 23000", "train: {goal: second-order, gap: 0.3}"},
	{fewColumns, twoClasses, "loss: tanh, family: lines", "1.7 3e-6 2300", "train: {goal: second-order, gap: 0.02}"},
	{fewColumns, twoClasses, "loss: tanh, family: lines", "1.7 3e-6 230000", "train: {goal: second-order, gap: 0.3, passes: 1}"},
	{fewColumns, twoClasses, "loss: tanh, family: lines", "1.7 3e-6 2300", "train: {goal: second-order, gap: 0.3, passes: 1}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "train: {passes: 7}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 2300000", "train: {passes: 1}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 230000", "train: {goal: population, passes: 3}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines, regularizer: l2(0.03)", "1.7 3e-6 230000", "train: {goal: excess-risk}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines, regularizer: l2(0.03), radius: 6", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: sigmoid, family: lines, kl: {kappa: 2, gamma: 5}", "1.7 3e-6 230000", ""},
	{fewColumns, twoClasses, "loss: sigmoid, family: lines", "1.7 3e-6 2300", "train: {goal: population}"},
	// Algorithms that are named.
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "train: {algorithm: preconditioned}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "train: {algorithm: dp-sgd, sampling: 0.03, steps: 9}"},
	{fewColumns, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {algorithm: dp-adam, sampling: 0.03, steps: 9}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "train: {algorithm: spiderboost, output: selected}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "train: {algorithm: storm, output: last}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "train: {algorithm: recursive}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "train: {algorithm: one-pass-sgd}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "train: {algorithm: tree-spider}"},
	{fewColumns, twoClasses, "loss: tanh, family: lines", "1.7 3e-6 23000", "train: {algorithm: second-order}"},
	{fewColumns, twoClasses, "loss: tanh, family: lines", "1.7 3e-6 23000", "train: {algorithm: perturbed-gd}"},
	{fewColumns, twoClasses, "loss: sigmoid, family: lines, kl: {kappa: 2, gamma: 5}", "1.7 3e-6 230000", "train: {algorithm: kl-spider}"},
	{fewColumns, twoClasses, "loss: hinge, family: lines", "1.7 3e-6 23000", "train: {algorithm: o2nc}"},
	{fewColumns, twoClasses, "loss: hinge, family: lines", "1.7 3e-6 23000", "train: {algorithm: subgradient, steps: 9}"},
	// Combinations that are refused.
	{fewColumns, twoClasses, "loss: logistic, start: {share: 0.03}", "1.7 3e-6 23000", "train: {base: 0.02}"},
	{fewColumns, twoClasses, "loss: logistic, start: {rate: 0.03}", "1.7 3e-6 23000", ""},
	{fewColumns, threeClasses, "loss: softmax, start: {share: 0.03}", "1.7 3e-6 23000", ""},
	{fewColumns, threeClasses, "loss: softmax, start: {shares: [0.2, 0.9, 0.1]}", "1.7 3e-6 23000", ""},
	{fewColumns, cost, "loss: huber(0.2), start: {value: 4000}", "1.7 3e-6 23000", ""},
	{fewColumns, claims, "loss: poisson(2), start: {value: 3}", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {base: 0.5, compare: 0.4, ranks: 0.3}"},
	{fewColumns, twoClasses, "loss: hinge", "1.7 3e-6 23000", "train: {base: 0.5}"},
	{fewColumns, twoClasses, "loss: {network: {hidden: [7], activation: tanh, output: logistic}}", "1.7 3e-6 23000", "train: {base: 0.1}"},
	{fewColumns, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {compare: 0.0001}"},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", "train: {ranks: 0.1}"},
	{numbersOnly, twoClasses, "loss: logistic, family: curves, reduce: jl(7)", "1.7 3e-6 23000", "train: {ranks: 0.1}"},
	{numbersOnly, twoClasses, "loss: logistic, family: curves", "1.7 3e-6 23000", "train: {ranks: 0.6, compare: 0.4}"},
	{curvedOnes, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, family: curves, features: effects", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, features: effects(0)", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, features: many", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, features: \"effects(3,7)\"", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, features: effects", "1.7 3e-6 23000", "  unit: {column: who, rows: 7}"},
	{fewColumns, twoClasses, "loss: logistic, features: effects", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewColumns, twoClasses, "loss: logistic, features: effects, reduce: jl(7)", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, features: effects", "1.7 3e-6 23000", "train: {algorithm: gd}"},
	{fewColumns, twoClasses, "loss: logistic", "1.7 3e-6 23000", "  norm: 2"},
	{fewColumns, cost, "loss: logistic", "1.7 3e-6 23000", ""},
	{fewColumns, cost, "loss: hazard", "1.7 3e-6 23000", ""},
	{fewColumns, died, "loss: logistic", "1.7 3e-6 23000", ""},
	{fewColumns, logitDied, "loss: poisson(2)", "1.7 3e-6 23000", ""},
	{fewColumns, logitDied, "loss: hazard", "1.7 3e-6 23000", "  unit: {column: who, rows: 7}"},
	{fewColumns, positive, "loss: poisson(2)", "1.7 3e-6 23000", ""},
	{fewColumns, cost, "loss: gamma(5)", "1.7 3e-6 23000", ""},
	{fewColumns, positive, "loss: \"gamma(5,0.5)\"", "1.7 3e-6 23000", ""},
	{fewColumns, positive, "loss: \"negbinomial(2,5)\"", "1.7 3e-6 23000", ""},
	{fewColumns, claims, "loss: \"negbinomial(2,5,70)\"", "1.7 3e-6 23000", ""},
	{fewColumns, `{column: cost, number: [0, 700000], weight: w}`, "loss: \"tweedie(1.5,5,0.01)\"", "1.7 3e-6 23000", ""},
	{fewColumns, exposed, "loss: huber(0.2)", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, weights: {maybe: 2}", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: nosuch", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: huber", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: [logistic]", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: {net: 3}", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: {network: {hidden: [7], activation: sine, output: logistic}}", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: {network: {hidden: [7], activation: tanh, output: logistic}}, reduce: jl(7)", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, reduce: jl(auto)", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewColumns, twoClasses, "loss: logistic, reduce: jl(7000)", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, reduce: \"jl(auto,x)\"", "1.7 3e-6 23000", ""},
	{wideColumns, twoClasses, "loss: tanh, reduce: \"jl(auto,9)\"", "1.7 3e-6 2300", ""},
	{fewColumns, twoClasses, "loss: logistic, units: sum", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic, units: alike", "1.7 3e-6 23000", "  unit: {column: who, rows: 7}"},
	{fewColumns, twoClasses, "loss: \"units(logistic,7,mean)\"", "1.7 3e-6 23000", "  unit: {column: who, rows: 7}"},
	{`age: {number: [17, 90], monotone: down}`, threeClasses, "loss: softmax", "1.7 3e-6 23000", ""},
	{`age: {number: [17, 90], monotone: down}`, twoClasses, "loss: logistic", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{`age: {number: [17, 90], monotone: down}`, twoClasses, "loss: logistic, reduce: jl(1)", "1.7 3e-6 23000", ""},
	{`age: {number: auto}, sex: {category: [f, m]}`, twoClasses, "loss: logistic", "1.7 3e-6 23000", ""},
	{fewColumns, twoClasses, "loss: logistic", "1.7 3e-6 23000", "described: d.json"},
	{`age: {number: auto}, sex: {category: [f, m]}`, twoClasses, "loss: logistic", "1.7 3e-6 23000", "described: d.json"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "inference: {level: 1.5}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "inference: {level: 0.9, rows: all}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "inference: {level: 0.9}; train: {algorithm: gd}"},
	{fewLevels, twoClasses, "loss: logistic, regularizer: l2(0.1)", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewLevels, twoClasses, "loss: logistic, radius: 7", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewLevels, twoClasses, "loss: logistic, reduce: jl(3)", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewLevels, twoClasses, "loss: logistic, weights: {\"yes\": 2}", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewLevels, weighted, "loss: squared(0.7)", "1.7 3e-6 23000", "inference: {level: 0.9};   unit: {column: who, rows: 7}"},
	{fewLevels, `{column: kind, classes: [r, g, b], weight: w}`, "loss: softmax", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "inference: {level: 0.9};   norm: 2"},
	{fewLevels, claims, "loss: poisson(0.6)", "1.7 3e-6 23000", "inference: {level: 0.9}; train: {base: off}"},
	{fewLevels, claims, "loss: poisson(2)", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewLevels, claims, "loss: poisson(0.6)", "1.7 3e-6 23000", "inference: {level: 0.9};   unit: {column: who, rows: 7}"},
	{fewLevels, threeClasses, "loss: softmax", "1.7 3e-6 23000", "inference: {level: 0.9};   unit: {column: who, rows: 7}"},
	{fewLevels, twoClasses, "loss: tanh", "1.7 3e-6 23000", "inference: {level: 0.9}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "inference: {level: 0.9};   interactions: [[age, ward]]"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {algorithm: gd, inner: storm}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {steps: 3}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {algorithm: gd, held_out: 0.1}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {algorithm: gd, sampling: 0.1}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {algorithm: gd, output: best}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {algorithm: gd, steps: many}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {algorithm: gd, constant_charges: 3}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {algorithm: gd, output: \"\"}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {algorithm: warm, inner: dp-sgd}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {nosuch: 3}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {algorithm: dp-sgd, sampling: 0.1, measure: 0.1}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {algorithm: dp-sgd, sampling: 0.1, base: 0.1}"},
	{fewLevels, died, "loss: hazard", "1.7 3e-6 23000", "train: {algorithm: dp-sgd, sampling: 0.1}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 3000000000", "train: {algorithm: one-pass-sgd}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {goal: best}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {gap: 0.1}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "train: {passes: 0.5}"},
	{fewLevels, twoClasses, "loss: tanh", "1.7 3e-6 23000", "train: {goal: excess-risk}"},
	{fewLevels, twoClasses, "loss: logistic, kl: {kappa: 2}", "1.7 3e-6 23000", ""},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "memory: {folder: x}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "memory: {gigabytes: -1}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "budget: {store: b.db, dataset: people}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "budget: {store: \"sqlite:b.db\"}"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "table: \" people\""},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "data: [a.csv, b.csv]"},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "data: \"-\""},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 23000", "csv: {delimiter: xx}"},
	{fewLevels, twoClasses, "loss: logistic", "1e-300 3e-6 23000", ""},
	{fewLevels, twoClasses, "loss: logistic", "0 3e-6 23000", ""},
	{fewLevels, twoClasses, "loss: logistic", "1.7 2 23000", ""},
	{fewLevels, twoClasses, "loss: logistic", "1.7 0.6 23000", ""},
	{fewLevels, twoClasses, "loss: logistic", "1e5 3e-6 23000", ""},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 0 add", ""},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 0", ""},
	{fewLevels, twoClasses, "loss: logistic", "1.7 3e-6 0", "data: \"-\"; table: people"},
	{fewLevels, twoClasses, "loss: logistic, family: curves", "1.7 3e-6 0", "data: \"-\"; table: people"},
	// Reasons of auto that only some sizes and targets have.
	{fewLevels, cost, "loss: squared(0.7), family: lines", "0.2 3e-6 700", ""},
	{fewLevels, claims, "loss: poisson(2), family: lines", "0.2 3e-6 700", ""},
	{fewLevels, twoClasses, "loss: logistic, family: lines, kl: {kappa: 2, gamma: 5}", "1.7 3e-6 230000", ""},
	{fewLevels, twoClasses, "loss: tanh, family: lines", "1.7 3e-6 23000000", "train: {goal: second-order, gap: 0.04, passes: 2}"},
	{fewLevels, twoClasses, "loss: tanh, family: lines", "1.7 3e-6 2300000", "train: {goal: second-order, gap: 0.01, passes: 1}"},
	{fewLevels, twoClasses, "loss: tanh, family: lines", "1.7 3e-6 23000000", "train: {goal: second-order, gap: 0.013}"},
	{fewLevels, twoClasses, "loss: tanh, family: lines", "4.2 3e-6 23000", "train: {goal: population}"},
	{fewLevels, twoClasses, "loss: tanh, family: lines", "4.2 3e-6 900", ""},
	{fewLevels, twoClasses, "loss: tanh, family: lines, regularizer: l2(0.1)", "4.2 3e-6 9000", ""},
	{fewColumns, rareClass, "loss: logistic, family: lines", "1.7 3e-6 450", ""},
	{fewColumns, rareClaims, "loss: poisson(2), family: lines", "1.7 3e-6 700", ""},
	{fewColumns, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 2300000", "data: t.parquet; memory: {gigabytes: 0.003}"},
	{`age: {number: [17, 90], curve: auto}`, twoClasses, "loss: logistic, family: curves", "1.7 3e-6 45000", "  unit: {column: who, rows: 7}"},
	{fewLevels, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 410", "inference: {level: 0.9}"},
	{fewLevels, twoClasses, "loss: logistic, family: lines", "1.7 3e-6 2300", "inference: {level: 0.9}"},
	{fewLevels, unlikeShares, "loss: softmax, family: lines", "1.7 3e-6 4100", "inference: {level: 0.9}"},
}

// takesLine matches what a plan measures on this machine.
var takesLine = regexp.MustCompile(`(?m)^takes .*\n|^(?:  )?  "takes": \{[^}]*\},?\n`)

// consideredPlans matches the compared plans in JSON, which are long; their main numbers are in the text.
var consideredPlans = regexp.MustCompile(`(?s)  "considered": \[.*?\n  \],\n`)

// TestPlansAreWhatTheyWere compares the whole output of plan --verbose and of plan --json, and the estimate of time and
// memory, with testdata/recorded/plans.txt, which is written by go test ./cmd/stillpoint -run PlansAreWhatTheyWere
// -update. Other processors fuse multiplications and additions, and numbers then have other last digits.
func TestPlansAreWhatTheyWere(t *testing.T) {
	t.Chdir(t.TempDir())
	var got bytes.Buffer
	var before []string
	plans := recordedPlans
	if testing.Short() {
		plans = plans[:60]
	}
	for i, p := range plans {
		if err := os.WriteFile("c.yaml", []byte(p.text()), 0o666); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "=== %d: %s\n", i+1, strings.Join([]string{p.columns, p.target, p.model, p.budget, p.more}, " | "))
		c, err := train.ReadConfig("c.yaml")
		if err != nil {
			fmt.Fprintf(&got, "refused      %v\n", err)
			continue
		}
		planned, err := c.Plan(t.Context())
		if err != nil {
			fmt.Fprintf(&got, "refused      %v\n", err)
			continue
		}
		text := fmt.Sprintf("%sestimate     %v: %d ns, %.9g bytes\nuseless      %v\nsmall        %v\n%s", outline(planned, true), planned.Estimate,
			planned.Estimate.Time, planned.Estimate.Memory, planned.Useless(), planned.Small(), marshalled(t, planJSON(planned)))
		text = takesLine.ReplaceAllString(text, "")
		if i > 2 {
			text = consideredPlans.ReplaceAllString(text, "")
		}
		lines := strings.SplitAfter(text, "\n")
		seen := strings.Join(before[max(0, len(before)-40):], "\n")
		for _, line := range lines {
			if !strings.Contains(seen, "\n"+line) {
				got.WriteString(line)
			}
		}
		fmt.Fprintf(&got, "%d lines in all\n", len(lines))
		before = append(before, "\n"+text)
	}
	path := filepath.Join(recordedFolder, "plans.txt")
	if testing.Short() {
		recordedtest.CompareStart(t, path, "=== 61: ", got.String())
	} else {
		recordedtest.Compare(t, path, got.String())
	}
}

// TestCommandsAreWhatTheyWere runs the lines of testdata/recorded/commands.txt that begin with "$ ", in one folder with
// the files of the folders files and fits beside it, and compares the exit code, standard output and standard error of
// each with the lines below it. These are written by go test ./cmd/stillpoint -run CommandsAreWhatTheyWere -update. The
// fits are of 30,000 made-up people, and three were killed. Beside commands of the program there are cat FILE, copy
// FOLDER NEW, quietly, which shows no output of a command, since its noise is new, and open, which reserves a budget as
// a fit does that is killed. Times, hashes and the ids of runs in what the test itself charges are shown by their
// order.
func TestCommandsAreWhatTheyWere(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(recordedFolder, "commands.txt"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, from := range []string{"files", "fits"} {
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(recordedFolder, from))); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	if os.Stdin, err = os.Open(os.DevNull); err != nil {
		t.Fatal(err)
	}
	defer os.Stdin.Close()
	var got strings.Builder
	names := map[string]string{}
	fresh := regexp.MustCompile(`[0-9a-f]{64}|\b[0-9a-f]{32}\b|\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ|process \d+ on [^,]*`)
	stored := false
	for line := range strings.Lines(string(script)) {
		if !strings.HasPrefix(line, "$ ") {
			continue
		}
		line = strings.TrimSpace(strings.TrimPrefix(line, "$ "))
		var args []string
		for _, m := range regexp.MustCompile(`"([^"]*)"|\S+`).FindAllStringSubmatch(line, -1) {
			if strings.HasPrefix(m[0], `"`) {
				m[0] = m[1]
			}
			args = append(args, m[0])
		}
		stored = stored || args[0] == "budget"
		var code int
		var out, failed string
		switch args[0] {
		case "cat":
			text, err := os.ReadFile(args[1])
			if err != nil {
				t.Fatal(err)
			}
			out = string(text)
		case "copy":
			if err := os.CopyFS(args[2], os.DirFS(args[1])); err != nil {
				t.Fatal(err)
			}
		case "quietly":
			if code, _, failed = inProcess(args[1:]...); code == 0 {
				failed = ""
			}
		case "open":
			reserved(t, args[1], args[2], parsed(t, args[3]))
		default:
			code, out, failed = inProcess(args...)
		}
		text := takesLine.ReplaceAllString(strings.ReplaceAll(out+failed, dir, "DIR"), "")
		if stored {
			text = fresh.ReplaceAllStringFunc(text, func(s string) string {
				if strings.HasSuffix(s, "Z") {
					return "<time>"
				} else if strings.HasPrefix(s, "process") {
					return "<process>"
				} else if names[s] == "" {
					names[s] = fmt.Sprintf("<%d>", len(names)+1)
				}
				return names[s]
			})
		}
		fmt.Fprintf(&got, "$ %s\n", line)
		if code != 0 {
			fmt.Fprintf(&got, "exit code %d\n", code)
		}
		got.WriteString(text)
		if !strings.HasSuffix(text, "\n") {
			got.WriteString("\n")
		}
	}
	recordedtest.Compare(t, filepath.Join(recordedFolder, "commands.txt"), got.String())
}

// reserved reserves a budget of an epsilon for a run of a dataset in the store b.db, as a fit does that is then killed.
func reserved(t *testing.T, dataset, label string, epsilon float64) {
	t.Helper()
	book, err := stores.Open(t.Context(), "sqlite:b.db")
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	b, err := account.NewBudget(epsilon, 3e-6, account.ReplaceOne)
	if err != nil {
		t.Fatal(err)
	}
	l, err := loss.Parse("logistic")
	if err != nil {
		t.Fatal(err)
	}
	session, err := simulate.Open(simulate.Config{Loss: l, Budget: b, Rows: [][]float32{{1}, {1}, {1}}, Targets: []float64{1, -1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	run := book.Run(dataset, label)
	if strings.HasPrefix(label, "held") {
		run.Hold()
	}
	if err := run.Reserve(t.Context(), session.Ledger()); err != nil {
		t.Fatal(err)
	}
}
