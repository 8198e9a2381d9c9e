// Command face writes the public face of the module to a file that is kept: the promised packages, their exported
// names and fields, and the members that show a type which is not promised. A test fails when the face differs from
// the kept one. Run it in the module's root, with the sentence that CHANGELOG.md has for the change.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/stillpoint-dp/stillpoint/internal/repotest/face"
)

func main() {
	note := flag.String("note", "", "the sentence of CHANGELOG.md that tells users of the change; \"\" prints the face alone")
	flag.Parse()
	if err := write(*note); err != nil {
		fmt.Fprintln(os.Stderr, "face:", err)
		os.Exit(1)
	}
}

func write(note string) error {
	f, err := face.Load(".", face.Promised)
	if err != nil {
		return err
	}
	if note == "" {
		_, err = os.Stdout.Write(f.Kept(""))
		return err
	}
	kept := f.Kept(note)
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err == nil {
		err = f.Check(kept, changelog)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(face.File, kept, 0o644)
}
