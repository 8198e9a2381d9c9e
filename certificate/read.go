package certificate

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/regular"
)

var (
	fileMembers = []string{
		"format", "version", "software", "claim", "basis", "records", "filter",
		"privacy_unit", "algorithm", "complete", "coins", "charged", "trusted",
		"model_sha256", "schedule", "events", "checksum", // filter and schedule are optional
	}
	claimMembers     = []string{"epsilon", "delta", "mu", "relation"}
	filterMembers    = []string{"column", "value"}
	algorithmMembers = []string{"name", "plan"}
	stepsMembers     = []string{"noise_multiplier", "sampling", "count"}
	eventMembers     = []string{
		"index", "kind", "question", "cohort", "sensitivity", "sigma", "charge",
		"sampling", "epsilon", "basis", "loss", "simulated", // optional
	}
)

// mostBytes is the largest certificate: two million releases.
const mostBytes = 512 << 20

// Read reads a certificate file; see [Parse].
func Read(path string) (*Certificate, error) {
	data, err := regular.Read(path, mostBytes)
	if err != nil {
		return nil, err
	}
	return Parse(data)
}

// Parse reads the bytes of a certificate file. It checks that the file is
// written as a certificate: every member present, once and of its type, and
// nothing else. Its errors are [ErrMalformed]. Whether the claim holds is for
// [Certificate.Verify] to say.
func Parse(data []byte) (*Certificate, error) {
	if err := checkJSON(data); err != nil {
		return nil, err
	}
	c := &Certificate{text: bytes.Clone(data)}
	if err := c.read(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Certificate) read() (err error) {
	o := newObject("", c.text, &err)
	d := &c.doc
	readHead(o, d)
	o.only(fileMembers, "filter", "schedule")
	o.decode("software", &d.Software)
	readClaim(o.object("claim"), &d.Claim)
	o.decode("basis", &d.Basis)
	o.decode("records", &d.Records)
	if _, given := o.members["filter"]; given {
		d.Filter = new(Filter)
		readFilter(o.object("filter"), d.Filter)
	}
	o.decode("privacy_unit", &d.PrivacyUnit)
	readAlgorithm(o.object("algorithm"), &d.Algorithm)
	o.decode("complete", &d.Complete)
	o.decode("coins", &d.Coins)
	o.decode("charged", &d.Charged)
	d.Trusted = readArray(o, "trusted", func(field string, raw json.RawMessage, into *string) {
		decodeValue(field, raw, into, o.err)
	})
	o.decode("model_sha256", &d.ModelSHA256)
	if _, given := o.members["schedule"]; given {
		d.Schedule = readArray(o, "schedule", func(field string, raw json.RawMessage, into *account.SampledSteps) {
			readSteps(newObject(field, raw, o.err), into)
		})
	}
	d.Events = readArray(o, "events", func(field string, raw json.RawMessage, into *account.Event) {
		readEvent(newObject(field, raw, o.err), into)
	})
	o.decode("checksum", &c.checksum)
	return err
}

// readHead comes before all else, so that a file of another kind or version is
// called that.
func readHead(o object, d *document) {
	if *o.err != nil {
		return
	}
	for _, key := range []string{"format", "version"} {
		if _, given := o.members[key]; !given {
			*o.err = malformed(key, "", "is missing")
			return
		}
	}
	o.decode("format", &d.Format)
	if *o.err == nil && d.Format != Format {
		*o.err = malformed("format", strconv.Quote(d.Format), "must be "+strconv.Quote(Format))
	}
	o.decode("version", &d.Version)
	if *o.err == nil && d.Version != Version {
		*o.err = malformed("version", strconv.Itoa(d.Version), "must be "+strconv.Itoa(Version)+", the only version this program reads")
	}
}

func readClaim(o object, c *Claim) {
	o.only(claimMembers)
	o.decode("epsilon", &c.Epsilon)
	o.decode("delta", &c.Delta)
	o.decode("mu", &c.Mu)
	o.decode("relation", &c.Relation)
}

func readFilter(o object, f *Filter) {
	o.only(filterMembers)
	o.decode("column", &f.Column)
	o.decode("value", &f.Value)
}

func readAlgorithm(o object, a *Algorithm) {
	o.only(algorithmMembers)
	o.decode("name", &a.Name)
	o.object("plan")
	a.Plan = o.members["plan"]
}

func readSteps(o object, s *account.SampledSteps) {
	o.only(stepsMembers)
	o.decode("noise_multiplier", &s.NoiseMultiplier)
	o.decode("sampling", &s.Sampling)
	o.decode("count", &s.Count)
}

func readEvent(o object, e *account.Event) {
	o.only(eventMembers, "sampling", "epsilon", "basis", "loss", "simulated")
	o.decode("index", &e.Index)
	o.decode("kind", &e.Kind)
	o.decode("question", &e.Question)
	o.decode("cohort", &e.Cohort)
	o.decode("sensitivity", &e.Sensitivity)
	o.decode("sigma", &e.Sigma)
	o.decode("charge", &e.Charge)
	if _, given := o.members["sampling"]; given {
		o.decode("sampling", &e.Sampling)
	}
	if _, given := o.members["epsilon"]; given {
		o.decode("epsilon", &e.Epsilon)
	}
	if _, given := o.members["basis"]; given {
		o.decode("basis", &e.Basis)
	}
	if _, given := o.members["loss"]; given {
		o.decode("loss", &e.Loss)
	}
	if _, given := o.members["simulated"]; given {
		o.decode("simulated", &e.Simulated)
	}
}

func readArray[T any](o object, key string, read func(field string, raw json.RawMessage, into *T)) []T {
	var raw []json.RawMessage
	o.decode(key, &raw)
	list := make([]T, len(raw))
	for i := range raw {
		read(item(key, i), raw[i], &list[i])
	}
	return list
}
