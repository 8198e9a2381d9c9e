package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMain runs the service's main function if the environment asks for it. The function needs a separate
// process, because it turns crash output off for its whole process.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SERVICE_EXAMPLE"); dir != "" {
		os.Args = []string{"service", dir}
		main()
		return
	}
	if as := os.Getenv(program); as != "" {
		fmt.Println(serve(as == "silent")) // not reached: serve does not return
		return
	}
	os.Exit(m.Run())
}

func command(t *testing.T, dir string) (string, error) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "SERVICE_EXAMPLE="+dir)
	out, err := c.CombinedOutput()
	return string(out), err
}

// TestService runs the example service. It predicts for a patient of 81 in the heart ward, where
// all such patients came back. Of twelve fits, seven printed a probability of .99 and five of 1.00.
func TestService(t *testing.T) {
	dir := t.TempDir()
	out, err := command(t, dir)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 || lines[0] != "verified: (1, 1e-06)-differentially private under replace-one, 20000 records" {
		t.Fatalf("printed %q", lines)
	}
	var p float64
	said := regexp.MustCompile(`^a patient of 81 in the heart ward comes back with probability ([01]\.\d\d)$`).FindStringSubmatch(lines[1])
	if said == nil {
		t.Fatalf("printed %q", lines[1])
	}
	if fmt.Sscan(said[1], &p); !(p > .5) {
		t.Errorf("probability %v", p)
	}
	for _, name := range []string{"model.json", "certificate.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestServiceFails tests the service with a file in place of its folder: it must end with an error
// of one line.
func TestServiceFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, file)
	if err == nil || strings.Count(out, "\n") != 1 {
		t.Errorf("%v: %q", err, out)
	}
}
