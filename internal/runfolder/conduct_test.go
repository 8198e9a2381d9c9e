package runfolder

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/train"
	"github.com/stillpoint-dp/stillpoint/optimize"
)

// TestCertificateKeepsWhatWasReleased tests that the certificate has, beside the charges, the norm
// of every step's noisy gradient and, if the configuration asks for it, the measured quality.
func TestCertificateKeepsWhatWasReleased(t *testing.T) {
	for _, measure := range []float64{0, .1} {
		c := config(t, 300)
		c.Train.Algorithm, c.Train.Measure, c.Train.Settings = "gd", measure, train.Settings{"steps": 12}
		var norms []float64
		f, err := fit(context.Background(), c,
			options{Software: "test", Step: func(s train.Step) { norms = append(norms, s.GradientNorm) }})
		if err != nil {
			t.Fatal(err)
		}
		cert, err := certificate.Read(f.CertificatePath)
		if err != nil {
			t.Fatal(err)
		}
		var kept struct {
			Steps         int
			GradientNorms []float64          `json:"gradient_norms"`
			Measured      *optimize.Measured `json:"measured"`
		}
		if err := json.Unmarshal(cert.Algorithm().Plan, &kept); err != nil {
			t.Fatal(err)
		}
		if kept.Steps != 12 || len(kept.GradientNorms) != 12 || len(norms) != 12 {
			t.Fatalf("%d steps, %d norms kept, %d seen", kept.Steps, len(kept.GradientNorms), len(norms))
		}
		for i, v := range norms {
			if ratio := kept.GradientNorms[i] / v; !(ratio > 1-1e-4 && ratio < 1+1e-4) {
				t.Errorf("step %d: %v kept of %v", i+1, kept.GradientNorms[i], v)
			}
		}
		if (kept.Measured != nil) != (measure > 0) || measure > 0 && *kept.Measured != *f.Measured {
			t.Errorf("measured %+v, kept %+v", f.Measured, kept.Measured)
		}
	}
}

// TestCertificateKeepsTheLook tests that a certificate states the gradient norm that a look released,
// and that the look's two releases are charged within the budget.
func TestCertificateKeepsTheLook(t *testing.T) {
	c := config(t, 300)
	c.Train.Algorithm, c.Train.Settings, c.Train.Base = "o2nc", train.Settings{"steps": 12, "look": 2}, train.Off
	c.Train.Compare = train.Off
	f, err := fit(context.Background(), c, options{Software: "test"})
	if err != nil {
		t.Fatal(err)
	}
	cert, err := certificate.Read(f.CertificatePath)
	if err != nil {
		t.Fatal(err)
	}
	var kept struct {
		SelectedNorm *optimize.SelectedNorm `json:"looked"`
	}
	if err := json.Unmarshal(cert.Algorithm().Plan, &kept); err != nil {
		t.Fatal(err)
	}
	if kept.SelectedNorm == nil || f.Result.SelectedNorm == nil || *kept.SelectedNorm != *f.Result.SelectedNorm || kept.SelectedNorm.Among != 2 ||
		!(kept.SelectedNorm.Sigma > 0) {
		t.Errorf("looked %+v, kept %+v", f.Result.SelectedNorm, kept.SelectedNorm)
	}
	if got := f.Charged / f.Budget.Charge(); f.Releases != 14 || !(got <= 1) || got < 1-1e-6 {
		t.Errorf("%d releases, %v of the budget charged: want 14 and all of it", f.Releases, got)
	}
	verified(t, f)
}
