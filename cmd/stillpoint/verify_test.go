package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// inProcess runs a command line within the test's own process and returns its exit code and output.
func inProcess(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(context.Background(), args, &console{out: &out, err: &err})
	return code, out.String(), err.String()
}

// TestVerifyByAlgorithm: the certificate of every algorithm must verify. After one value was changed and
// the checksum recomputed, it must be refused with exit code 4 or state a guarantee that is not stronger.
// The changes are divided among the algorithms; package certificate tests all of them on certificates of
// every kind.
func TestVerifyByAlgorithm(t *testing.T) {
	dir := t.TempDir()
	if err := writePeople(dir, 300); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	turn := 0
	for i, algorithm := range train.Algorithms() {
		for _, relation := range []string{"replace-one", "add-or-remove"} {
			if testing.Short() && (relation == "add-or-remove" || i%3 > 0) {
				continue
			}
			name := algorithm + "-" + relation
			text := strings.ReplaceAll(peopleYAML, "replace-one", relation) + "train: {algorithm: " + algorithm + "}\n"
			if algorithm == "smoothed" {
				text = strings.Replace(text, "loss: logistic", "loss: hinge", 1)
			}
			if relation == "add-or-remove" {
				text = strings.Replace(text, "privacy:\n", "privacy:\n  records: 300\n", 1)
			}
			if err := os.WriteFile(name+".yaml", []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			code, _, message := inProcess("fit", name+".yaml", "--out", name)
			if code != 0 {
				if !(relation == "add-or-remove" && strings.Contains(message, "replace-one")) {
					t.Errorf("%s: exit code %d: %s", name, code, message)
				}
				continue
			}
			turn++
			t.Run(name, func(t *testing.T) { forgeries(t, turn, filepath.Join(name, runfolder.CertificateFile)) })
		}
	}
}

func forgeries(t *testing.T, turn int, path string) {
	verified := func(path string) (code int, report map[string]any) {
		code, out, message := inProcess("verify", path, "--json")
		if code == 0 {
			report = decodeJSON(t, out)
		} else if out != "" || !strings.HasPrefix(message, "stillpoint: ") {
			t.Errorf("exit code %d, prints %q and %q", code, out, message)
		}
		return code, report
	}
	code, truth := verified(path)
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	original, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tree := decodeJSON(t, string(original))
	delete(tree, "checksum")
	refused, accepted := 0, 0
	other := filepath.Join(t.TempDir(), "c.json")
	for i, c := range changes(tree, "") {
		if i%len(train.Algorithms()) != turn%len(train.Algorithms()) {
			continue // this change is tested with another algorithm
		}
		c.do()
		writeSealed(t, other, tree)
		c.undo()
		switch code, r := verified(other); code {
		case 4:
			refused++
		case 0:
			accepted++
			for _, key := range []string{"epsilon", "delta", "mu"} {
				if r[key].(float64) < truth[key].(float64) && truth["basis"] == "gaussian-dp-filter" {
					t.Errorf("%s: %s becomes %v, from %v", c.name, key, r[key], truth[key])
				}
			}
			if r["relation"] != truth["relation"] || r["basis"] != truth["basis"] {
				t.Errorf("%s: %v", c.name, r)
			}
		default:
			t.Errorf("%s: exit code %d", c.name, code)
		}
	}
	if refused < 6 || refused < 2*accepted {
		t.Errorf("%d refused, %d accepted", refused, accepted)
	}
}

// change is one change of a decoded certificate.
type change struct {
	name     string
	do, undo func()
}

// changes lists changes of each value of an object. Of a list it changes the first and the last item. The
// plan, which may have any members, is left out.
func changes(at any, path string) (list []change) {
	add := func(name string, get any, set func(any)) {
		values := []any{nil, -1.0, 1e300, "x", []any{}, true}
		if x, ok := get.(float64); ok {
			values = append(values, 0.0, x/2, x*2, -x, x+.5)
		}
		for _, v := range values {
			if fmt.Sprint(v) != fmt.Sprint(get) {
				list = append(list, change{fmt.Sprintf("%s becomes %v", name, v), func() { set(v) }, func() { set(get) }})
			}
		}
		list = append(list, changes(get, name)...)
	}
	switch at := at.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(at)) {
			if key == "plan" || key == "trusted" || key == "software" {
				continue
			}
			get := at[key]
			list = append(list, change{"without " + path + "." + key, func() { delete(at, key) }, func() { at[key] = get }})
			add(path+"."+key, get, func(v any) { at[key] = v })
		}
	case []any:
		for i, get := range at {
			if i == 0 || i == len(at)-1 {
				add(fmt.Sprintf("%s[%d]", path, i), get, func(v any) { at[i] = v })
			}
		}
	}
	return list
}

// writeSealed writes a changed certificate with the checksum that belongs to it.
func writeSealed(t *testing.T, path string, tree map[string]any) {
	t.Helper()
	text, err := json.MarshalIndent(tree, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	head := append(bytes.TrimSuffix(text, []byte("\n}")), ",\n"...)
	sum := sha256.Sum256(append(slices.Clone(head), "}\n"...))
	if err := os.WriteFile(path, fmt.Appendf(head, "  \"checksum\": \"sha256:%x\"\n}\n", sum), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestVerifyOfWhatIsNoCertificate tests the command verify on other files. A readable file that is
// not a certificate must be refused at once, without printing any of it. A file that cannot be read
// must give the exit code of a failure of the system.
func TestVerifyOfWhatIsNoCertificate(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{
		"empty": "", "blank": " \n\t\n", "null": "null", "number": "1", "text": "certificate", "list": "[]", "object": "{}",
		"bytes": "\x00\x01\x02", "mark": "\ufeff{}", "utf16": "{\x00}\x00", "latin": "{\"caf\xe9\": 1}", "csv": "a,b\n1,2\n",
		"deep": strings.Repeat("[", 1e6), "deeper": strings.Repeat(`{"a":`, 1e6),
		"open":   `{"format": "stillpoint certificate"`,
		"format": `{"format": "stillpoint certificate"}`, "version": `{"format": "stillpoint certificate", "version": 1e99}`,
		"model": `{"format": "stillpoint model", "version": 1}`, "long": "{" + strings.Repeat(" ", 1<<20) + "}x",
		"escapes": `{"\u001b[2J\u0007": 1, "format": "\u001b]0;x\u0007", "version": 1}`,
		"bidi":    `{"format": "` + "\u202e" + `", "version": 1}`,
		"raw":     "{\"\x1b[2J\": 1}", "wide": `{"\u009b2J": 1, "format": "stillpoint certificate", "version": 1}`,
	}
	writeFiles(t, ".", files)
	for name := range files {
		code, out, message := inProcess("verify", name)
		if code != 4 || out != "" || !strings.HasPrefix(message, "stillpoint: "+name+": certificate") || len(message) > 500 {
			t.Errorf("%s: exit code %d, prints %q and %.500q", name, code, out, message)
		}
		for _, r := range strings.TrimSuffix(message, "\n") {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' {
				t.Errorf("%s: prints %U: %q", name, r, message)
			}
		}
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		if code, _, message := inProcess("verify", "/dev/zero"); code != 1 {
			t.Errorf("/dev/zero: exit code %d: %s", code, message)
		}
	}
	if err := os.Mkdir("folder", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"absent", "folder", "empty/below"} {
		if code, _, message := inProcess("verify", name); code != 1 {
			t.Errorf("%s: exit code %d: %s", name, code, message)
		}
	}
}

// TestOverspentIsSaid tests that budget show and verify say by how much a cap was exceeded, and that verify does not
// state the cap as a guarantee.
func TestOverspentIsSaid(t *testing.T) {
	limit, err := budget.NewCap(3, 1e-6, account.ReplaceOne, 0)
	if err != nil {
		t.Fatal(err)
	}
	d := &budget.Dataset{Name: "people", Cap: limit, Charge: .4, Spent: .5, Over: .125, Epsilon: 3.5}
	if text := spent(d); !strings.Contains(text, "OVERSPENT    by 0.125 (units of mu^2)") {
		t.Errorf("show: %s", text)
	}
	text := provenOf(d)
	if !strings.Contains(text, "does not hold") || !strings.Contains(text, "(3.502, 1e-06)") || strings.Contains(text, "(3, ") {
		t.Errorf("verify: %s", text)
	}
	d.Over = 0
	if text := spent(d) + provenOf(d); strings.Contains(text, "OVERSPENT") || !strings.Contains(text, "(3, 1e-06)") {
		t.Errorf("within the cap: %s", text)
	}
}
