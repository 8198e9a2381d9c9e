package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stillpoint-dp/stillpoint/budget"
	"github.com/stillpoint-dp/stillpoint/certificate"
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
	"github.com/stillpoint-dp/stillpoint/internal/runfolder"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/sshsig"
)

// signedAs is the namespace of the SSH signatures of certificates, which states their purpose. A signature
// with another namespace is refused.
const signedAs = "stillpoint-certificate"

type certificateCommand struct {
	Sign   certificateSign   `cmd:"" help:"Sign a certificate with an SSH key: writes CERTIFICATE.sig."`
	Verify certificateVerify `cmd:"" help:"Verify a certificate and who signed it."`
}

type certificateSign struct {
	Certificate string `arg:"" help:"Certificate file, or an output folder." placeholder:"CERTIFICATE"`
	Key         string `help:"Private SSH key." required:"" placeholder:"KEY"`
	Out         string `help:"Write the signature to FILE (default: CERTIFICATE.sig)." placeholder:"FILE"`
}

func (s *certificateSign) Run(ctx context.Context, c *console) error {
	s.Certificate = inFolder(s.Certificate, runfolder.CertificateFile)
	text, _, _, err := verified(ctx, s.Certificate, "", false)
	if err != nil {
		return err
	}
	secret, err := regularfile.Read(s.Key, sshsig.Most)
	if err != nil {
		return err
	}
	key, err := sshsig.ParseKey(secret)
	if errors.Is(err, sshsig.ErrPassphrase) {
		return fmt.Errorf("key %s: %w: sign with: ssh-keygen -Y sign -n %s -f KEY CERTIFICATE", s.Key, err, signedAs)
	}
	if err != nil {
		return fmt.Errorf("key %s: %w", s.Key, err)
	}
	signature, err := key.Sign(signedAs, text)
	if err != nil {
		return fmt.Errorf("key %s: %w", s.Key, err)
	}
	out := cmp.Or(s.Out, s.Certificate+".sig")
	if err := writeFile(out, []string{s.Certificate, s.Key}, writes(signature)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "signature    %s\nkey          %s\nrecheck      stillpoint certificate verify %s "+
		"--signers FILE, in which a line is\n             NAME %s\n", safetext.Text(out), key.Fingerprint(),
		safetext.Text(s.Certificate), key.Public())
	return err
}

type certificateVerify struct {
	Certificate string `arg:"" help:"Certificate file, or an output folder. The model in the folder is then checked, too." placeholder:"CERTIFICATE"`
	Signers     string `help:"File of the allowed signers, with a line NAME TYPE KEY for each." required:"" placeholder:"FILE"`
	Signature   string `help:"Signature file (default: CERTIFICATE.sig)." placeholder:"FILE"`
	Model       string `help:"Also check that FILE is the model that the certificate names." placeholder:"FILE"`
	JSON        bool   `help:"Print JSON." name:"json"`
}

func (v *certificateVerify) Run(ctx context.Context, c *console) error {
	signers, err := regularfile.Read(v.Signers, sshsig.Most)
	if err != nil {
		return err
	}
	at, model := certificateIn(v.Certificate, v.Model)
	path := cmp.Or(v.Signature, at+".sig")
	signature, err := regularfile.Read(path, sshsig.Most)
	if err != nil {
		return err
	}
	// The file is read only once, so that the verified bytes are also the bytes whose signature is checked.
	text, report, _, err := verified(ctx, at, model, at != v.Certificate)
	if err != nil {
		return err
	}
	who, err := sshsig.Verify(signers, signedAs, text, signature)
	if err != nil {
		if !errors.Is(err, sshsig.ErrRefused) {
			path = v.Signers
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	if v.JSON {
		return printJSON(c.out, struct {
			sshsig.Signer
			Certificate any `json:"certificate"`
		}{who, report})
	}
	if report != nil {
		first, _, _ := strings.Cut(report.String(), "\n")
		fmt.Fprintln(c.out, first)
	}
	_, err = fmt.Fprintf(c.out, "Signed by %s with key %s.\n", safetext.Text(who.Name), who.Fingerprint)
	return err
}

// certificateIn returns the certificate file at path and the file with which it is compared. If path is an output
// folder, they are the folder's certificate and its model or description, unless model is another file.
func certificateIn(path, model string) (string, string) {
	for _, name := range []string{runfolder.ModelFile, runfolder.DescriptionFile} {
		if own := inFolder(path, name); own != path {
			model = cmp.Or(model, own)
		}
	}
	return inFolder(path, runfolder.CertificateFile), model
}

// verified reads and verifies the certificate of a run or of a dataset, and that the model file at modelPath, unless it
// is empty, is the one that the certificate names. In an output folder there must be one if the certificate names one. It
// returns the certificate's bytes with the report of the verification of a run, or with the dataset.
func verified(ctx context.Context, path, modelPath string, folder bool) (text []byte, run *certificate.Report, d *budget.Dataset,
	err error) {
	if text, err = regularfile.Read(path, budget.MostCertificate); err != nil {
		return nil, nil, nil, err
	}
	if strings.Contains(string(text[:min(len(text), 64)]), budget.CertificateFormat) {
		if d, err = budget.Verify(ctx, text); err == nil && modelPath != "" {
			err = errors.New("is the certificate of a dataset's budget, which names no model: leave --model out")
		}
	} else if parsed, bad := certificate.Parse(text); bad != nil {
		err = bad
	} else if run, err = parsed.Verify(ctx); err == nil && folder && modelPath == "" && parsed.ModelSHA256() != "" {
		err = fmt.Errorf("names a model or a description, and the folder has no %s and no %s: to verify the certificate alone, give "+
			"its file in place of the folder", runfolder.ModelFile, runfolder.DescriptionFile)
	} else if err == nil && modelPath != "" {
		if err := certificate.VerifyModel(parsed, modelPath); err != nil {
			return nil, nil, nil, err
		}
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, run, d, nil
}

type verifyCommand struct {
	Certificate string   `arg:"" help:"Certificate file, or an output folder. The model in the folder is then checked, too." placeholder:"CERTIFICATE"`
	Model       string   `help:"Also check that FILE is the model that the certificate names." placeholder:"FILE"`
	Runs        []string `name:"run" help:"For a dataset's certificate: also check that it contains the run of this certificate." placeholder:"CERTIFICATE"`
	JSON        bool     `help:"Print JSON." name:"json"`
}

func (v *verifyCommand) Run(ctx context.Context, c *console) error {
	at, file := certificateIn(v.Certificate, v.Model)
	_, run, d, err := verified(ctx, at, file, at != v.Certificate)
	switch {
	case err != nil:
		return err
	case d == nil && len(v.Runs) > 0:
		return fmt.Errorf("%s: is no dataset's certificate: --run is for those", at)
	case d == nil:
		return c.answer(v.JSON, run, fmt.Sprintln(run))
	}
	for _, path := range v.Runs {
		if err := against(ctx, d, path); err != nil {
			return err
		}
	}
	return c.answer(v.JSON, d, spent(d), provenOf(d))
}

// provenOf states in words what a dataset's verified chain of rows proves about the privacy of its runs.
func provenOf(d *budget.Dataset) string {
	if d.Over > 0 {
		return fmt.Sprintf(`The cap does not hold: runs of this dataset released %.6g (units of mu^2) more than it allows.
Together they are (%.4g, %v)-differentially private under %v. This follows
from the rows; that none is missing at the end, whoever has a later head can tell.
`, d.Over, runfolder.RoundUp(d.Epsilon), d.Cap.Delta, d.Cap.Relation)
	}
	return fmt.Sprintf(`Everything that was released of this dataset by the runs above is together
(%v, %v)-differentially private under %v: each was charged before its
first release, and none that the cap did not cover. This follows from the rows; that
none is missing at the end, whoever has a later head can tell.
`, d.Cap.Epsilon, d.Cap.Delta, d.Cap.Relation)
}
