package loss

import (
	"fmt"
	"strconv"
	"strings"
)

// parseNetwork makes the loss of a [Network] from its name, such as network(16,tanh,logistic) or
// network(32-16,tanh,softmax(3),clip=0.5,seed=7). classes is the number of classes of the target. It is
// used for "softmax" without a number.
func parseNetwork(name string, classes int) (Loss, error) {
	list, closed := strings.CutSuffix(strings.TrimPrefix(name, networkPrefix), ")")
	fields := splitOutside(list)
	if !closed || len(fields) < 3 {
		return nil,
			fmt.Errorf("loss: name = %q: must be network(hidden,activation,output), such as network(16,tanh,logistic)", name)
	}
	n := Network{Activation: fields[1]}
	for _, text := range strings.Split(fields[0], "-") {
		m, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("loss: network: hidden = %q: must be numbers of units, such as 32 or 32-16", fields[0])
		}
		n.Hidden = append(n.Hidden, m)
	}
	var err error
	if n.Output, err = ParseFor(fields[2], classes); err != nil {
		return nil, fmt.Errorf("loss: network: output: %w", err)
	}
	for _, field := range fields[3:] {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "clip":
			n.Clip, err = strconv.ParseFloat(value, 64)
		case "seed":
			n.Seed, err = strconv.ParseUint(value, 10, 64)
		default:
			return nil, fmt.Errorf("loss: network: %q: must be clip=C or seed=S", field)
		}
		if err != nil {
			return nil, fmt.Errorf("loss: network: %s = %q: must be a number", key, value)
		}
	}
	return NewNetwork(n)
}

const networkPrefix = "network("

// splitOutside splits a list at its commas, except for commas inside parentheses, and trims spaces.
func splitOutside(list string) (fields []string) {
	depth, from := 0, 0
	for i, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			fields = append(fields, strings.TrimSpace(list[from:i]))
			from = i + 1
		}
	}
	return append(fields, strings.TrimSpace(list[from:]))
}

func (n *network) Name() string {
	hidden := make([]string, len(n.Hidden))
	for i, m := range n.Hidden {
		hidden[i] = strconv.Itoa(m)
	}
	name := networkPrefix + strings.Join(hidden, "-") + "," + n.Activation + "," + n.Output().Name()
	if n.Clip != n.Output().Constants().Lipschitz {
		name += ",clip=" + strconv.FormatFloat(n.Clip, 'g', -1, 64)
	}
	if n.Seed != 1 {
		name += ",seed=" + strconv.FormatUint(n.Seed, 10)
	}
	return name + ")"
}
