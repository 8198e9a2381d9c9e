package repotest

import (
	"os"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/repotest/face"
)

// TestFaceIsKept compares the public face of the module with the kept one. A change of an exported name, of its type
// or of an exported field needs a note in CHANGELOG.md, which tools/face writes to the kept file.
func TestFaceIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("loads all promised packages with their types")
	}
	t.Chdir("../..")
	f, err := face.Load(".", face.Promised)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(face.File)
	if err != nil {
		t.Fatal(err)
	}
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(kept, changelog); err != nil {
		t.Error(err)
	}
}

// TestFaceSeesChanges tests the listing on a package of its own: a new name, a field of another type and a type of a
// package that is not promised must each change the kept text, and a note that CHANGELOG.md lacks must be refused.
func TestFaceSeesChanges(t *testing.T) {
	one := face.Face{Packages: []face.Package{{Path: "a", Names: []face.Member{{Name: "F", Type: "func()"}},
		Fields: []face.Member{{Name: "T.X", Type: "int"}}}}}
	const note = "`a.F` is new."
	kept, log := one.Kept(note), []byte("# Changes\n\n- `a.F`\n  is new.\n")
	if err := one.Check(kept, log); err != nil {
		t.Fatal(err)
	}
	if one.Check(kept, []byte("# Changes\n")) == nil {
		t.Error("a note that the changelog lacks is taken")
	}
	if one.Check(one.Kept(""), log) == nil {
		t.Error("a face without a note is taken")
	}
	for name, change := range map[string]func(*face.Package){
		"a new name":       func(p *face.Package) { p.Names = append(p.Names, face.Member{Name: "G", Type: "func()"}) },
		"another type":     func(p *face.Package) { p.Fields[0].Type = "string" },
		"a leaking member": func(p *face.Package) { p.Names[0].Leaks = []string{"internal/x.T"} },
		"a lost name":      func(p *face.Package) { p.Names = nil },
	} {
		other := face.Face{Packages: []face.Package{{Path: "a", Names: []face.Member{{Name: "F", Type: "func()"}},
			Fields: []face.Member{{Name: "T.X", Type: "int"}}}}}
		change(&other.Packages[0])
		if other.Check(kept, log) == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
