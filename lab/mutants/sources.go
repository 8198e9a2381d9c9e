//go:build mutants

package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sources maps a package's folder in the module to a digest of the sources of its tests: the
// package's own files and test data, the files of the module's packages that it depends on, and the
// versions of all other modules.
type sources map[string]string

// key returns a digest of the sources of all packages whose tests are run on a mutant.
func (s sources) key(m mutant) string {
	sum := sha256.New()
	for _, pattern := range m.packages {
		if prefix, all := strings.CutSuffix(pattern, "..."); all {
			prefix = strings.TrimPrefix(prefix, "./")
			for _, dir := range sortedKeys(s) {
				if strings.HasPrefix(dir+"/", prefix) {
					fmt.Fprintln(sum, dir, s[dir])
				}
			}
			continue
		}
		dir := strings.TrimPrefix(pattern, "./")
		fmt.Fprintln(sum, dir, s[dir])
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:6])
}

func sortedKeys[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// listed is a package as go list -json prints it.
type listed struct {
	ImportPath string
	Dir        string
	ForTest    string
	Deps       []string
	Module     *struct {
		Path string
		Main bool
	}
	GoFiles, EmbedFiles, TestGoFiles, XTestGoFiles, TestEmbedFiles, XTestEmbedFiles []string
}

// readSources returns the digests of all packages of the module in the current folder and, if it has one, of
// its laboratory.
func readSources() (sources, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	arguments := []string{"list", "-test",
		"-json=ImportPath,Dir,ForTest,Deps,Module,GoFiles,EmbedFiles,TestGoFiles,XTestGoFiles,TestEmbedFiles,XTestEmbedFiles",
		"./..."}
	required := []string{"go.mod"}
	if _, err := os.Stat("lab/go.mod"); err == nil {
		arguments, required = append(arguments, "./lab/..."), append(required, "lab/go.mod")
	}
	out, err := command(arguments...)
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, out)
	}
	packages := map[string]listed{}
	needs := map[string][]string{} // dependencies of a package's tests, by import path
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		path, ofTest, _ := strings.Cut(p.ImportPath, " [")
		switch {
		case strings.HasSuffix(path, ".test"):
			needs[strings.TrimSuffix(path, ".test")] = p.Deps
		case ofTest == "" && p.Module != nil && p.Module.Main:
			packages[path] = p
		}
	}
	versions, err := digest(required...)
	if err != nil {
		return nil, err
	}
	if sums, err := digest("go.sum"); err == nil { // a module without dependencies has no go.sum
		versions += sums
	}
	result := sources{}
	code := map[string]string{} // digest of each package's own files without tests, by import path
	for path, p := range packages {
		if code[path], err = digest(absolute(p.Dir, p.GoFiles, p.EmbedFiles)...); err != nil {
			return nil, err
		}
	}
	for path, p := range packages {
		files := absolute(p.Dir, p.TestGoFiles, p.XTestGoFiles, p.TestEmbedFiles, p.XTestEmbedFiles)
		data, err := below(filepath.Join(p.Dir, "testdata"))
		if err != nil {
			return nil, err
		}
		own, err := digest(append(files, data...)...)
		if err != nil {
			return nil, err
		}
		sum := sha256.New()
		fmt.Fprintln(sum, versions, code[path], own)
		deps := map[string]bool{}
		for _, dep := range needs[path] {
			dep, _, _ = strings.Cut(dep, " [")
			deps[dep] = true
		}
		for _, dep := range sortedKeys(deps) {
			if c, local := code[dep]; local {
				fmt.Fprintln(sum, dep, c)
			}
		}
		dir, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return nil, err
		}
		result[filepath.ToSlash(dir)] = fmt.Sprintf("%x", sum.Sum(nil)[:8])
	}
	return result, nil
}

func absolute(dir string, lists ...[]string) (files []string) {
	for _, list := range lists {
		for _, name := range list {
			files = append(files, filepath.Join(dir, name))
		}
	}
	return files
}

// below lists the files in a folder and its subfolders. The list is empty if the folder does not exist.
func below(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return files, err
}

// digest returns one digest of the names and contents of the given files.
func digest(files ...string) (string, error) {
	sum := sha256.New()
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%q %x\n", filepath.Base(path), sha256.Sum256(text))
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
