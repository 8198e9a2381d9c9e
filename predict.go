package stillpoint

import (
	"context"
	"errors"
	"io"
	"iter"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/model"
	"github.com/stillpoint-dp/stillpoint/runfolder"
)

// Model is a trained model.
type Model = model.Model

// Prediction is a model's prediction for one row.
type Prediction = model.Prediction

// Interval is the confidence interval of a prediction of a fit with Spec.Inference.
type Interval = model.Interval

// PredictOptions changes what is predicted. The zero value predicts every row.
type PredictOptions = model.PredictOptions

// ReadModel reads a model's file.
func ReadModel(path string) (*Model, error) { return model.Read(path) }

// Predict writes predictions for the rows of a table as CSV: a header row, then one row for each row of the
// table, in the same order (model.Model.Predict describes the columns). The table must have the schema's
// feature columns. The target column may be absent. Predictions of numbers are clamped to the target's public
// bounds.
//
// Predict costs no privacy of the records that the model was trained on. The predictions are as sensitive as
// the rows of the table t.
func Predict(ctx context.Context, m *Model, t Table, w io.Writer, o PredictOptions) error {
	s, err := given(m, t)
	if err != nil {
		return err
	}
	return m.ReadAs(t.csv).PredictFrom(ctx, s, w, o)
}

// Predictions returns the predictions of Predict as a sequence: one for each row, in the table's order. The
// sequence ends at the first error.
func Predictions(ctx context.Context, m *Model, t Table) iter.Seq2[Prediction, error] {
	s, err := given(m, t)
	if err != nil {
		return func(yield func(Prediction, error) bool) { yield(Prediction{}, err) }
	}
	return m.ReadAs(t.csv).Predictions(ctx, s)
}

func given(m *Model, t Table) (model.Source, error) {
	if m == nil {
		return model.Source{}, errors.New("stillpoint: model: must be given: a fit that was interrupted may have none")
	}
	return t.source()
}

// Verify rechecks the guarantee of a fit from the files in its folder, without the data. It verifies the
// certificate. If the certificate names a model, Verify also compares the model file in the folder with the
// certificate's SHA-256. The report says what was established. The errors are the errors of package
// certificate and of reading files.
func Verify(ctx context.Context, dir string) (*certificate.Report, error) {
	cert := filepath.Join(dir, runfolder.CertificateFile)
	c, err := certificate.Read(cert)
	if err != nil {
		return nil, err
	}
	if c.ModelSHA256() == "" {
		return c.Verify(ctx)
	}
	return VerifyFiles(ctx, cert, filepath.Join(dir, runfolder.ModelFile))
}

// VerifyFiles is Verify for a certificate file and a model file, each by its path. An empty modelPath
// verifies the certificate alone.
func VerifyFiles(ctx context.Context, certificatePath, modelPath string) (*certificate.Report, error) {
	c, err := certificate.Read(certificatePath)
	if err != nil {
		return nil, err
	}
	report, err := c.Verify(ctx)
	if err != nil || modelPath == "" {
		return report, err
	}
	if err := certificate.VerifyModel(c, modelPath); err != nil {
		return nil, err
	}
	return report, nil
}
