//go:build results

package results_test

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/train"
)

var (
	wideWords = flag.Int("words", 1000,
		"the words of each of the five columns of TestWide, and the buckets of its hash")
	wideRows     = flag.Int("wide-rows", 30000, "the training rows of TestWide")
	wideEpsilons = flag.String("wide-epsilons", "2", "the epsilons of TestWide, separated by commas")
	wideRules    = flag.String("wide-rules", "auto;nesterov;reduce: jl(400)",
		"what TestWide compares, separated by semicolons: algorithms, their settings after a comma, or a reduction")
	wideLoss = flag.String("wide-loss", "logistic", "the loss of TestWide")
)

// TestWide fits a generated table of five columns of text: words by Zipf's law, word k with a
// probability proportional to 1/k, each with an effect of its own on the odds of the class. Every
// fit draws fresh noise.
func TestWide(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "wide.csv")
	writeWide(t, path, *wideRows, *wideWords)
	for _, epsilon := range strings.Split(*wideEpsilons, ",") {
		for _, rule := range strings.Split(*wideRules, ";") {
			text := "data: wide.csv\nschema:\n  columns:\n    split: {public: [train, test]}\n"
			for c := range 5 {
				text += fmt.Sprintf("    text%d: {hash: %d}\n", c, *wideWords)
			}
			text += "  target: {column: y, classes: [no, yes]}\n  where: split=train\n"
			model, settings := fmt.Sprintf("model: {loss: %q", *wideLoss), ""
			if name, reduced := strings.CutPrefix(rule, "reduce: "); reduced {
				model += ", reduce: " + name
			} else {
				settings = "train: {algorithm: " + rule + "}\n"
			}
			text += model + "}\n" + settings + fmt.Sprintf("privacy: {epsilon: %s, delta: 1e-6, relation: replace-one}\n",
				epsilon)
			file := filepath.Join(dir, "wide.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var accuracies, errors []float64
			var chosen string
			for range *rivalRuns {
				f, err := config(t, file).Fit(t.Context(), train.Options{Software: "results"})
				if err != nil {
					t.Fatal(err)
				}
				m, err := f.Model.Evaluate(t.Context(), path, "split=test", "")
				if err != nil {
					t.Fatal(err)
				}
				chosen = fmt.Sprintf("%s, %d steps", f.Plan.Summary().Algorithm, f.Plan.Summary().Steps)
				accuracies, errors = append(accuracies, *m.Accuracy), append(errors, 1-*m.AUC)
			}
			slices.Sort(accuracies)
			slices.Sort(errors)
			fmt.Printf("| %d | %d | %s | %s | %s | %.3f (%.3f to %.3f) | %.3f |\n", *wideRows, 5**wideWords, epsilon, rule,
				chosen,
				accuracies[len(accuracies)/2], accuracies[0], accuracies[len(accuracies)-1], 1-errors[len(errors)/2])
		}
	}
}

func writeWide(t *testing.T, path string, n, words int) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 7))
	effects := make([][]float64, 5)
	total := 0.
	for k := range words {
		total += 1 / float64(k+1)
	}
	up := make([]float64, words)
	sum := 0.
	for k := range words {
		sum += 1 / float64(k+1) / total
		up[k] = sum
	}
	for c := range effects {
		effects[c] = make([]float64, words)
		for k := range effects[c] {
			effects[c][k] = 1.5 * random.NormFloat64()
		}
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	fmt.Fprintln(out, "text0,text1,text2,text3,text4,y,split")
	right := 0
	for i := range n + 10000 {
		z := 0.
		for c := range effects {
			k := min(words-1, lowest(up, random.Float64()))
			z += effects[c][k]
			fmt.Fprintf(out, "w%d,", k)
		}
		y, split := "no", "train"
		if random.Float64() < 1/(1+math.Exp(-z)) {
			y = "yes"
		}
		if i >= n {
			split = "test"
			if (y == "yes") == (z > 0) {
				right++
			}
		}
		fmt.Fprintf(out, "%s,%s\n", y, split)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("by the true effects %.4f of the held-out rows are right\n", float64(right)/10000)
}

// lowest returns the smallest index k with up[k] >= u.
func lowest(up []float64, u float64) int {
	k, _ := slices.BinarySearch(up, u)
	return k
}
