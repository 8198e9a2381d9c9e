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

// TestMain is the command itself where the environment says so: it turns crashes
// off for its process.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SERVICE_EXAMPLE"); dir != "" {
		os.Args = []string{"service", dir}
		main()
		return
	}
	if as := os.Getenv(program); as != "" {
		fmt.Println(serve(as == "silent")) // is not reached
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

// TestService runs the command. It predicts for somebody of 81 in the heart ward,
// like whom all came back: with probability .76, from which the noise moves it by a
// deviation below .01, measured over fits. So it prints one half or less with a
// probability below 1e-100.
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
	said := regexp.MustCompile(`^a patient of 81 in the heart ward comes back with probability (0\.\d\d)$`).FindStringSubmatch(lines[1])
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

// A file in place of a folder is an error, told in one line.
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
