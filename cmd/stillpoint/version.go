package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCommand struct{}

func (versionCommand) Run(c *console) error {
	_, err := fmt.Fprintf(c.out, "%s %s/%s %s\n", software(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	return err
}

// stamp is the version that a build was told: go build -ldflags "-X main.stamp=v1.2.0".
var stamp string

// software names the program with its version: the stamp, the module's, or the
// revision it was built from.
func software() string {
	if stamp != "" {
		return "stillpoint " + stamp
	}
	version, revision := "devel", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			version = v
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && version == "devel" && len(s.Value) >= 12 {
				revision = " " + s.Value[:12]
			}
		}
	}
	return "stillpoint " + version + revision
}
