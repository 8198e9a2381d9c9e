package certificate

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/internal/regularfile"
)

var (
	fileMembers = []string{
		"format", "version", "software", "claim", "basis", "records", "budget", "filter",
		"privacy_unit", "unit", "algorithm", "complete", "coins", "charged", "trusted",
		"model_sha256", "schedule", "events", "checksum", // budget, filter, unit and schedule are optional
	}
	claimMembers     = []string{"epsilon", "delta", "mu", "relation"}
	budgetMembers    = []string{"dataset", "run", "row", "head"}
	filterMembers    = []string{"column", "value"}
	unitMembers      = []string{"column", "rows", "count"}
	algorithmMembers = []string{"name", "plan"}
	stepsMembers     = []string{"noise_multiplier", "sampling", "count"}
	eventMembers     = []string{
		"index", "kind", "question", "cohort", "relation", "sensitivity", "sigma", "charge",
		"sampling", "epsilon", "basis", "loss", "simulated", // optional
	}
)

// mostBytes is the largest size of a certificate file, in bytes. This is enough for about two million
// releases.
const mostBytes = 512 << 20

// Read reads a certificate file as [Parse] does. If the file cannot be read, it returns the file system's
// error. If the first character after white space is not {, it returns an error without reading the rest of
// the file.
func Read(path string) (*Certificate, error) {
	file, err := regularfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var text bytes.Buffer
	if _, err := io.CopyN(&text, file, 4096); err != nil && err != io.EOF {
		return nil, err
	}
	if head := bytes.TrimLeft(text.Bytes(), " \t\r\n"); len(head) > 0 && head[0] != '{' {
		return nil, malformed("", "", "must be a JSON object: it begins with "+strconv.QuoteToASCII(string(head[:1])))
	}
	if _, err := io.Copy(&text, io.LimitReader(file, mostBytes)); err != nil {
		return nil, err
	}
	if text.Len() > mostBytes {
		return nil, malformed("", "", "must be at most "+strconv.Itoa(mostBytes)+" bytes")
	}
	return Parse(text.Bytes())
}

// Parse reads the bytes of a certificate file. It returns [ErrMalformed] unless format and version are
// known, every required member is present, no member is given twice, every member has its type, and there
// are no unknown members. It does not decide whether the claim holds. [Certificate.Verify] decides this.
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
	o.only(fileMembers, "budget", "filter", "unit", "schedule")
	o.decode("software", &d.Software)
	readClaim(o.object("claim"), &d.Claim)
	o.decode("basis", &d.Basis)
	o.decode("records", &d.Records)
	if _, given := o.members["budget"]; given {
		d.Budget = new(account.Reservation)
		readReservation(o.object("budget"), d.Budget)
	}
	if _, given := o.members["filter"]; given {
		d.Filter = new(account.Filter)
		readFilter(o.object("filter"), d.Filter)
	}
	o.decode("privacy_unit", &d.PrivacyUnit)
	if _, given := o.members["unit"]; given {
		d.Unit = new(account.Unit)
		readUnit(o.object("unit"), d.Unit)
	}
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

// readHead reads format and version before all other members. The error for a file of another kind or
// version then names the format or version.
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
	if *o.err == nil && d.Format != format {
		*o.err = malformed("format", strconv.Quote(d.Format), "must be "+strconv.Quote(format))
	}
	o.decode("version", &d.Version)
	if *o.err == nil && d.Version != version {
		*o.err = malformed("version", strconv.Itoa(d.Version),
			"must be "+strconv.Itoa(version)+", the only version this program reads")
	}
}

func readClaim(o object, c *claim) {
	o.only(claimMembers)
	o.decode("epsilon", &c.Epsilon)
	o.decode("delta", &c.Delta)
	o.decode("mu", &c.Mu)
	o.decode("relation", &c.Relation)
}

func readReservation(o object, r *account.Reservation) {
	o.only(budgetMembers)
	o.decode("dataset", &r.Dataset)
	o.decode("run", &r.Run)
	o.decode("row", &r.Row)
	o.decode("head", &r.Head)
}

func readFilter(o object, f *account.Filter) {
	o.only(filterMembers)
	o.decode("column", &f.Column)
	o.decode("value", &f.Value)
}

func readUnit(o object, u *account.Unit) {
	o.only(unitMembers)
	o.decode("column", &u.Column)
	o.decode("rows", &u.Rows)
	o.decode("count", &u.Count)
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
	o.decode("relation", &e.Relation)
	o.decode("sensitivity", &e.Sensitivity)
	o.decode("sigma", &e.Sigma)
	o.decode("charge", &e.Charge)
	decodeOptional(o, "sampling", &e.Sampling)
	decodeOptional(o, "epsilon", &e.Epsilon)
	decodeOptional(o, "basis", &e.Basis)
	decodeOptional(o, "loss", &e.Loss)
	decodeOptional(o, "simulated", &e.Simulated)
}

// decodeOptional reads a member that must be absent if its value is zero. It records an error if the member
// is present with the zero value, so that every fact is written in only one form.
func decodeOptional[T comparable](o object, key string, into *T) {
	raw, given := o.members[key]
	if !given {
		return
	}
	o.decode(key, into)
	if zero := *new(T); *o.err == nil && *into == zero {
		*o.err = malformed(join(o.field, key), string(raw), "must be absent instead")
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
