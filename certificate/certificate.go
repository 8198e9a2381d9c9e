package certificate

import (
	"encoding/json"
	"slices"

	"github.com/stillpoint-dp/stillpoint/account"
)

// Format and Version open every certificate file.
const (
	Format  = "stillpoint certificate"
	Version = 1
)

// BasisGaussianFilter names what a claim rests on: the guarantee is the Gaussian
// differential privacy filter's mu, fixed before the first release.
const BasisGaussianFilter = "gaussian-dp-filter"

// BasisSchedule names the other ground of a claim: a schedule of releases on
// Poisson samples, fixed before the first one and composed by privacy-loss
// distributions, beside Gaussian releases within the claim's mu.
const BasisSchedule = "sampled-gaussian-schedule"

// PrivacyUnit is what one record is, and UnitOfRows what it is where a Unit says whose
// rows it is. Others are refused.
const (
	PrivacyUnit = "row"
	UnitOfRows  = "rows with one value"
)

// Coins says where the noise came from. The zero value is invalid.
type Coins string

const (
	// Secret coins come from the operating system and are known to nobody.
	Secret Coins = "secret"
	// Simulated coins are seeded, replayed or absent, and protect nobody.
	Simulated Coins = "simulated"
)

// Claim is what the certificate says of the run: it is (Epsilon, Delta)-DP under
// the relation, for records of the unit. With BasisGaussianFilter it is Mu-GDP; with
// BasisSchedule, Mu is the share of Gaussian releases beside the schedule, often 0.
type Claim = account.Guarantee

// claim is a claim as files write it. The unit is a member of the document.
type claim struct {
	Epsilon  float64          `json:"epsilon"`
	Delta    float64          `json:"delta"`
	Mu       float64          `json:"mu"`
	Relation account.Relation `json:"relation"`
}

// Algorithm says what was run. Plan is a JSON object of public quantities fixed
// before the first release, free in form.
type Algorithm struct {
	Name string          `json:"name"`
	Plan json.RawMessage `json:"plan"`
}

// Reservation says where a run was charged before its first release: a row of a
// dataset's chain in a store of budgets, by its hash. What the dataset's runs cost together
// is what its own certificate says; this one speaks of one run.
type Reservation = account.Reservation

// document is the file without its checksum; the order of the fields is that of
// the file's members.
type document struct {
	Format   string `json:"format"`
	Version  int    `json:"version"`
	Software string `json:"software"`
	Claim    claim  `json:"claim"`
	Basis    string `json:"basis"`
	Records  int64  `json:"records"`
	// Budget is given exactly if the run was charged to one that outlasts it.
	Budget *Reservation `json:"budget,omitempty"`
	// Filter is given exactly if there was one.
	Filter      *Filter `json:"filter,omitempty"`
	PrivacyUnit string  `json:"privacy_unit"`
	// Unit is given exactly with UnitOfRows.
	Unit        *Unit     `json:"unit,omitempty"`
	Algorithm   Algorithm `json:"algorithm"`
	Complete    bool      `json:"complete"`
	Coins       Coins     `json:"coins"`
	Charged     float64   `json:"charged"`
	Trusted     []string  `json:"trusted"`
	ModelSHA256 string    `json:"model_sha256"`
	// Schedule is given exactly with BasisSchedule.
	Schedule []account.SampledSteps `json:"schedule,omitempty"`
	Events   []account.Event        `json:"events"`
}

// Certificate is the record of one run. It is immutable. What its methods
// return is what the file says; only [Certificate.Verify] checks it. The zero
// Certificate claims nothing and does not verify.
type Certificate struct {
	doc      document
	checksum string // as stated
	text     []byte // the file
}

// Claim returns what is claimed.
func (c *Certificate) Claim() Claim { return c.doc.guarantee() }

// guarantee is the claim with the unit it is for.
func (d *document) guarantee() Claim {
	g := Claim{Relation: d.Claim.Relation, Epsilon: d.Claim.Epsilon, Delta: d.Claim.Delta, Mu: d.Claim.Mu}
	if d.Unit != nil {
		g.Unit = d.Unit.Column
	}
	return g
}

// Basis returns what the claim rests on.
func (c *Certificate) Basis() string { return c.doc.Basis }

// Software returns the program and version that wrote the certificate.
func (c *Certificate) Software() string { return c.doc.Software }

// Records returns the number of records: the public count under replace-one, the
// declared count under add-or-remove.
func (c *Certificate) Records() int64 { return c.doc.Records }

// Filter returns which rows were records; the zero Filter for all of them.
func (c *Certificate) Filter() Filter {
	if c.doc.Filter == nil {
		return Filter{}
	}
	return *c.doc.Filter
}

// Unit returns whose rows made up one record; the zero Unit if each was one.
func (c *Certificate) Unit() Unit {
	if c.doc.Unit == nil {
		return Unit{}
	}
	return *c.doc.Unit
}

// Budget returns where the run was charged beside its own ledger; ok is false if
// nowhere.
func (c *Certificate) Budget() (r Reservation, ok bool) {
	if c.doc.Budget == nil {
		return Reservation{}, false
	}
	return *c.doc.Budget, true
}

// Algorithm returns what was run.
func (c *Certificate) Algorithm() Algorithm {
	a := c.doc.Algorithm
	a.Plan = slices.Clone(a.Plan)
	return a
}

// Complete reports whether the run ended as planned. The claim of a run that was
// interrupted holds for what it released.
func (c *Certificate) Complete() bool { return c.doc.Complete }

// Coins returns where the noise came from.
func (c *Certificate) Coins() Coins { return c.doc.Coins }

// Charged returns the largest total charged to any record, in units of mu^2.
func (c *Certificate) Charged() float64 { return c.doc.Charged }

// Trusted returns the assumptions that are trusted rather than enforced.
func (c *Certificate) Trusted() []string { return slices.Clone(c.doc.Trusted) }

// ModelSHA256 returns the SHA-256 of the model file in lower-case hexadecimal,
// or "" if an interrupted run wrote none.
func (c *Certificate) ModelSHA256() string { return c.doc.ModelSHA256 }

// Events returns the releases in order.
func (c *Certificate) Events() []account.Event { return slices.Clone(c.doc.Events) }
