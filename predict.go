package stillpoint

import (
	"context"
	"errors"
	"io"
	"iter"
	"path/filepath"

	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/model"
)

// Model is a trained model.
type Model = model.Model

// Prediction is a model's prediction for one row.
type Prediction = model.Prediction

// Interval is the confidence interval of a prediction of a fit with Spec.Inference.
type Interval = model.Interval

// PredictOptions selects rows and adds columns of margins or intervals. The zero value predicts every row and
// adds none.
type PredictOptions = model.PredictOptions

// ReadModel reads a model's file.
func ReadModel(path string) (*Model, error) { return model.Read(path) }

// Predict writes predictions for the rows of a table as CSV, or as o.Format says: a header row, then one row
// for each row of the table, in the same order (model.Model.Predict describes the columns). The table must
// have the schema's feature columns. The target column may be absent. A table of files must be a single file.
// Predictions of numbers are clamped to the target's public bounds if the model is Clamped.
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

// Predictions returns a sequence with one prediction for each row of the table t, in the table's order. If an
// error occurs, the sequence yields it and ends.
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
// certificate. If the certificate states the SHA-256 of a model, Verify also compares it with the SHA-256 of
// the model file in the folder. The report lists the verified facts. Verify returns an error if a file cannot
// be read, the certificate is invalid, or the model file differs.
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

// VerifyFiles does what Verify does, for the paths of a certificate file and of a model file. With an empty
// modelPath it verifies the certificate alone.
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
