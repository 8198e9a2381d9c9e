package repotest

import (
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/repotest/face"
)

// TestFaceIsKept compares the public face of the module with the kept one. A change of an exported name, of its type
// or of an exported field needs a note in CHANGELOG.md, which tools/face writes to the kept file.
func TestFaceIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("loads all promised packages with their types")
	}
	t.Chdir(root)
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

// TestPackagesSayWhetherTheyAreFrozen: each package that other modules can import must be promised, or say in its
// first sentence that it is not frozen. A package cannot be both. Programs cannot be imported.
func TestPackagesSayWhetherTheyAreFrozen(t *testing.T) {
	t.Chdir(root)
	const says = "(not frozen)"
	promised := map[string]bool{}
	for _, name := range face.Promised {
		promised[strings.TrimPrefix(name, ".")] = true
	}
	open := 0
	for name := range sources(t) {
		if slices.Contains(strings.Split(name, "/"), "internal") {
			continue
		}
		kind, text := comment(t, name)
		switch free := strings.Contains(new(doc.Package).Synopsis(text), says); {
		case kind == "main":
		case promised[name] && free:
			t.Errorf("%q is promised, and its first sentence has %q", name, says)
		case !promised[name] && !free:
			t.Errorf("%q is not promised (face.Promised), and its first sentence lacks %q: %q", name, says, new(doc.Package).Synopsis(text))
		case free:
			open++
		}
		delete(promised, name)
	}
	if len(promised) > 0 || open == 0 {
		t.Errorf("%v are promised and are no packages; %d packages are not frozen: must be more", promised, open)
	}
}

// comment returns the name of the package in a folder, and its documentation.
func comment(t *testing.T, folder string) (name, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		name, text = file.Name.Name, text+file.Doc.Text()
	}
	return name, text
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
