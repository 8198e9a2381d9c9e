package results

import (
	"os/exec"
	"testing"
)

// TestEveryTableHasARecipe runs check_test.py: every table of the pages must have a recipe that makes its figures
// again, or a reason why there is none. The test is skipped without Python 3.
func TestEveryTableHasARecipe(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	if out, err := exec.Command(python, "check_test.py").CombinedOutput(); err != nil {
		t.Errorf("check_test.py: %v\n%s", err, out)
	}
}
