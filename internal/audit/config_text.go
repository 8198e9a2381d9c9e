package audit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stillpoint-dp/stillpoint/account"
)

// String describes the audit and its findings in plain words, for people.
func (r Result) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-13s%s\n", name, fmt.Sprintf(format, args...))
	}
	if len(r.Violations) == 0 {
		line("result", "no violation found")
	}
	for i, v := range r.Violations {
		name := ""
		if i == 0 {
			name = "VIOLATION"
		}
		line(name, "%v", v)
	}
	line("run", "%s with loss %s, %d steps, %d answers; epsilon %v, delta %v (mu %.5g)", r.Summary.Algorithm, r.Loss,
		r.Summary.Steps, r.Answers, r.Guarantee.Epsilon, r.Guarantee.Delta, r.Guarantee.Mu)
	if r.Chosen > 0 {
		line("", "the algorithm is what auto chooses for %d records", r.Chosen)
	}
	if r.Ended != "" {
		line("", "it ended with: %s", r.Ended)
	}
	switch {
	case r.Configured == 0:
		line("table", "generated: %d records, %d features of the schema; the configuration's own was not opened", r.Records,
			r.Dim)
	case r.Configured == r.Records:
		line("table",
			"generated: %d records as configured, %d features of the schema; the configuration's own was not opened", r.Records,
			r.Dim)
	default:
		line("table",
			"generated: %d records (of the %d configured, for speed), %d features of the schema; the configuration's own was "+
				"not opened", r.Records, r.Configured, r.Dim)
	}
	unit := ""
	if r.Unit != "" {
		unit = ", " + r.Unit
	}
	line("tried",
		"%d replays with every released value frozen, %d pairs of tables that differ in one record%s (%v): random, built "+
			"to be worst, faulty, and climbed to", r.Replays, r.Pairs, unit, r.Relation)
	line("repeated", "%s", repeated(r))
	width := 0
	for _, f := range slices.Concat(r.Findings, r.Searched) {
		width = max(width, len(f.Kind))
	}
	for i, f := range r.Findings {
		name := ""
		if i == 0 {
			name = "worst"
		}
		line(name, "%-*s  %s of the charged sensitivity, answers: %d (%s)", width, f.Kind, part(f.Ratio), f.Answers,
			f.Neighbour)
	}
	for i, f := range r.Searched {
		name := ""
		if i == 0 {
			name = "searched"
		}
		line(name, "%-*s  %s, over all points and records", width, f.Kind, part(f.Ratio))
	}
	if r.Attack != nil {
		line("attack", "%s", r.Attack)
	}
	line("shows", "of the records tried none moves an answer by more than it was charged for, if every figure")
	line("", "above is at most 1; figures close to 1 say that the search came close to the worst there is")
	line("shows not", "that no record can; that the machine's secret coins are secret; nor anything about the")
	line("", "table you will train on, or about branches that only a larger table or another answer reaches")
	return b.String()
}

// part formats a ratio of movement to charged sensitivity to four digits. It rounds away from 1: a ratio
// above 1, a violation, is never shown as 1, and neither is a ratio below 1.
func part(x float64) string {
	if x <= 1 {
		x = math.Floor(x*1e4) / 1e4
	} else {
		x = math.Ceil(x*1e4) / 1e4
	}
	return fmt.Sprintf("%.4f", x)
}

func repeated(r Result) string {
	for _, v := range r.Violations {
		if v.Rule != "sensitivity" {
			return "no: see above"
		}
	}
	same := "questions, points, cohorts, charges, errors, steps and result were the same on every table, bit by bit"
	if r.Relation == account.AddOrRemove {
		same += ", also on tables of one record more and less"
	}
	return same
}
