//go:build browser

package report

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// browsers are the names of browser programs, tried in this order. STILLPOINT_BROWSER names another
// program.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "chrome-headless-shell", "headless_shell"}

func browser(t *testing.T) string {
	t.Helper()
	if own := os.Getenv("STILLPOINT_BROWSER"); own != "" {
		return own
	}
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("no browser: none of %v is installed, and STILLPOINT_BROWSER is not set", browsers)
	return ""
}

// TestBrowserShowsPages tests pages in a real browser. It must find all plots in a page, must make
// no script or image of hostile text, and must draw the page at the widths of a desktop and of a
// phone. If STILLPOINT_SHOTS names a folder, the screenshots are kept there.
func TestBrowserShowsPages(t *testing.T) {
	program := browser(t)
	shots := os.Getenv("STILLPOINT_SHOTS")
	if shots == "" {
		shots = t.TempDir()
	}
	run := func(args ...string) string {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		common := []string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
			"--user-data-dir=" + t.TempDir()}
		out, err := exec.CommandContext(ctx, program, append(common, args...)...).Output()
		if err != nil {
			t.Fatalf("%s %v: %v", program, args, err)
		}
		return string(out)
	}
	fit, err := ReadFit(t.Context(), people(t, `<script>document.write(1)</script>`, 30).write(t))
	if err != nil {
		t.Fatal(err)
	}
	fitted, err := fit.Page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, page := range map[string]Page{"fit": fitted, "plain": everywhere("words"),
		"hostile": everywhere(hostile[0] + hostile[1])} {
		path := filepath.Join(t.TempDir(), name+".html")
		writeTo(t, path, render(t, page))
		dom := run("--dump-dom", "file://"+path)
		if strings.Contains(dom, "<script") || strings.Contains(dom, "<img") {
			t.Errorf("%s: text became an element", name)
		}
		if got, want := strings.Count(dom, "<svg"), strings.Count(string(render(t, page)), "<svg"); got != want {
			t.Errorf("%s: %d plots: want %d", name, got, want)
		}
		for view, size := range map[string]string{"desktop": "1100,3000", "phone": "390,3000"} {
			picture := filepath.Join(shots, name+"-"+view+".png")
			run("--window-size="+size, "--screenshot="+picture, "file://"+path)
			if info, err := os.Stat(picture); err != nil || info.Size() < 10_000 {
				t.Errorf("%s: no picture of %s (%v)", name, view, err)
			}
		}
	}
}
