package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

type lossesCommand struct{}

func (lossesCommand) Run(c *console) error {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "loss\ttarget\tconvex\tcorners\tfor")
	yes := map[bool]string{true: "yes", false: "no"}
	for _, l := range train.Losses() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.Text, l.Target, yes[l.Convex], yes[l.Corners], l.Use)
	}
	return w.Flush()
}
