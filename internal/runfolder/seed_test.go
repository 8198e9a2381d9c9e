package runfolder

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestPublicSeedIsRecorded: if a plan draws public random bits, the certificate has their seed.
// A plan made again from the seed is the same, including the iterate drawn as the result. Every
// fit draws a seed of its own. If no public random bits are drawn, the certificate has no seed.
func TestPublicSeedIsRecorded(t *testing.T) {
	seeds := map[uint64]bool{}
	for range 3 {
		for _, drawn := range []bool{true, false} {
			c := config(t, 300)
			c.Train = train.Train{Algorithm: "gd", Settings: train.Settings{"steps": 1000}}
			if drawn {
				c.Train.Settings["output"] = "random"
			}
			f, err := fit(t.Context(), c, options{Out: filepath.Join(t.TempDir(), "fit"), Software: "test"})
			if err != nil {
				t.Fatal(err)
			}
			cert, err := certificate.Read(f.CertificatePath)
			if err != nil {
				t.Fatal(err)
			}
			var kept struct {
				Seed   string `json:"public_seed"`
				Output string `json:"output"`
			}
			if err := json.Unmarshal(cert.Algorithm().Plan, &kept); err != nil {
				t.Fatal(err)
			}
			if !drawn {
				if kept.Seed != "" {
					t.Errorf("a fit without public coins records the seed %s", kept.Seed)
				}
				continue
			}
			seed, err := strconv.ParseUint(kept.Seed, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			seeds[seed] = true
			problem, _, err := c.Problem(f.Budget, f.Records)
			if err != nil {
				t.Fatal(err)
			}
			problem.Seed = seed
			plan, _, err := c.Train.Plan(t.Context(), problem)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Summary().Output != kept.Output || f.Result.Output != kept.Output {
				t.Errorf("the seed leads to %q, the fit to %q and its certificate to %q", plan.Summary().Output, f.Result.Output,
					kept.Output)
			}
		}
	}
	if len(seeds) != 3 {
		t.Errorf("seeds %v: want three, each of a fit (alike with a chance of 2^-62)", seeds)
	}
}
