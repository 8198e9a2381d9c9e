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
	Certificate string `arg:"" help:"Certificate file." placeholder:"CERTIFICATE"`
	Key         string `help:"Private SSH key." required:"" placeholder:"KEY"`
	Out         string `help:"Write the signature to FILE (default: CERTIFICATE.sig)." placeholder:"FILE"`
}

func (s *certificateSign) Run(ctx context.Context, c *console) error {
	text, _, err := verified(ctx, s.Certificate)
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
	out := s.Out
	out = cmp.Or(out, s.Certificate+".sig")
	if err := writeFile(out, []string{s.Certificate, s.Key}, writes(signature)); err != nil {
		return err
	}
	_,
		err = fmt.Fprintf(c.out,
		"signature    %s\nkey          %s\nrecheck      stillpoint certificate verify %s --signers FILE, in which a line "+
			"is\n             NAME %s\n",
		safetext.Text(out), key.Fingerprint(), safetext.Text(s.Certificate), key.Public())
	return err
}

type certificateVerify struct {
	Certificate string `arg:"" help:"Certificate file." placeholder:"CERTIFICATE"`
	Signers     string `help:"File of the allowed signers, with a line NAME TYPE KEY for each." required:"" placeholder:"FILE"`
	Signature   string `help:"Signature file (default: CERTIFICATE.sig)." placeholder:"FILE"`
	Model       string `help:"Also check that FILE is the model the certificate speaks of." placeholder:"FILE"`
	JSON        bool   `help:"Print JSON." name:"json"`
}

func (v *certificateVerify) Run(ctx context.Context, c *console) error {
	signers, err := regularfile.Read(v.Signers, sshsig.Most)
	if err != nil {
		return err
	}
	path := v.Signature
	path = cmp.Or(path, v.Certificate+".sig")
	signature, err := regularfile.Read(path, sshsig.Most)
	if err != nil {
		return err
	}
	// The file is read only once, so that the verified bytes are also the bytes whose signature is checked.
	text, report, err := verified(ctx, v.Certificate)
	if err != nil {
		return err
	}
	if v.Model != "" {
		if report == nil {
			return fmt.Errorf("%s: is a dataset's certificate, which speaks of no model", v.Certificate)
		}
		parsed, err := certificate.Parse(text)
		if err != nil {
			return err
		}
		if err := certificate.VerifyModel(parsed, v.Model); err != nil {
			return err
		}
	}
	who, err := sshsig.Verify(signers, signedAs, text, signature)
	if err != nil && !errors.Is(err, sshsig.ErrRefused) {
		return fmt.Errorf("%s: %w", v.Signers, err)
	}
	if err != nil {
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

// verified reads and verifies the certificate of a run or of a dataset. It returns the certificate's bytes
// and, for a run, the report of the verification; for a dataset the report is nil.
func verified(ctx context.Context, path string) ([]byte, *certificate.Report, error) {
	text, err := regularfile.Read(path, budget.MostCertificate)
	if err != nil {
		return nil, nil, err
	}
	if strings.Contains(string(text[:min(len(text), 64)]), budget.CertificateFormat) {
		if _, err := budget.Verify(ctx, text); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		return text, nil, nil
	}
	parsed, err := certificate.Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	report, err := parsed.Verify(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, report, nil
}
