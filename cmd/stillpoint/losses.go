package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

type lossesCommand struct{}

// Help returns the text that the help of the command prints below its flags.
func (lossesCommand) Help() string {
	return `Lists the values of model.loss by the kind of the target. Parameters are in units of the
scaled target: numbers are scaled from their bounds to [-1, 1]. A loss with corners is
smoothed by a known amount before it is fitted. A network takes any of them as its output:

  loss: {network: {hidden: [16], activation: tanh, output: logistic}}`
}

func (lossesCommand) Run(c *console) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "loss\ttarget\tconvex\tcorners\tfor")
	yes := map[bool]string{true: "yes", false: "no"}
	for _, l := range train.Losses() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.Text, l.Target, yes[l.Convex], yes[l.Corners], l.Use)
	}
	return w.Flush()
}
