package main

import "errors"

// experimentCommand answers a command that the laboratory has now.
type experimentCommand struct {
	Arguments []string `arg:"" optional:"" help:"Ignored."`
}

// errMoved reports a command that is no command of this program any more.
var errMoved = errors.New("experiment is a command of the laboratory, which the source holds: " +
	"go run ./lab/cmd/lab experiment")

func (*experimentCommand) Run() error { return errMoved }
