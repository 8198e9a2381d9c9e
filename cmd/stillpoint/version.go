package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCommand struct{}

func (versionCommand) Run(c *console) error {
	_, err := fmt.Fprintln(c.out, versionLine())
	return err
}

// versionLine returns the version, the system and the version of Go.
func versionLine() string {
	return fmt.Sprintf("%s %s/%s %s", software(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// stamp is the version that the build sets, or "": go build -ldflags "-X main.stamp=v1.2.0".
var stamp string

// software returns the program's name and version. The version is the stamp if it is set, else the module's
// version, else "devel" and the first 12 digits of the source revision.
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
