package optimizetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stillpoint-dp/stillpoint/account"
	"github.com/stillpoint-dp/stillpoint/loss"
	"github.com/stillpoint-dp/stillpoint/optimize"
	"github.com/stillpoint-dp/stillpoint/query"
)

// Config configures an Oracle: its rows, its budget and its noise.
type Config struct {
	// Rows are the features of the records. Norms above 1 are allowed. A record whose target is NaN or
	// infinite is faulty: it counts as a record, but contributes nothing to an answer.
	Rows    [][]float32
	Targets []float64
	// Repeat is the number of records that each row stands for; zero means one.
	Repeat int
	Loss   loss.Loss
	Budget account.Budget
	// Declared is the public number of records under add-or-remove. It is ignored under
	// replace-one.
	Declared float64
	// Seed determines the noise and the cohorts.
	Seed uint64
	// Noiseless makes answers exact. Answers still state the standard deviation of the noise that they would
	// otherwise have.
	Noiseless bool
	// Script, if not nil, is called before each query is validated, with the number k of the query, counted from 0. If
	// it returns an error, the query returns this error. Script may also cancel a context that the test has made.
	Script func(k int) error
}

// Asked describes one query that was made to the oracle, and its answer.
type Asked struct {
	Question query.Question
	// Answer is the released answer. It is the zero Release if Err is not nil.
	Answer query.Release
	// Exact is the mean without noise.
	Exact []float64
	// Clipped is the number of distinct rows whose contribution a clip changed.
	Clipped int
	Err     error
}

// Oracle is an [optimize.Oracle] that exposes its rows. It is not safe for concurrent use.
type Oracle struct {
	// Asked lists every query made by Ask in order, including refused queries.
	Asked []Asked

	config  Config
	margins int // of a loss of several margins
	ledger  *account.Ledger
	noise   *rand.Rand
	order   []int
	// order lists the records in the order in which cohorts are drawn from them. drawn[i] is the
	// position in order after the last record of cohort i+1.
	drawn []int
	// declared[i] is the public size of cohort i+1.
	declared []float64
	// unjoined is the expected number of records that no cohort of DrawEach contains yet.
	unjoined float64
	// schedule is the schedule that the oracle follows; nil for none.
	schedule *account.Schedule
	// samples is the number of samples drawn from the schedule.
	samples int
	// latest is the latest sample. It is the zero Cohort after a query on the latest sample.
	latest query.Cohort
	// sample has the row numbers of the latest sample.
	sample []int
}

var _ optimize.Oracle = (*Oracle)(nil)

// New returns an oracle. It panics if Rows is empty, if Targets has another length than Rows, or if the
// loss is neither rank-one nor general nor has margins.
func New(c Config) *Oracle {
	if len(c.Rows) == 0 || len(c.Targets) != len(c.Rows) {
		panic(fmt.Sprintf("optimizetest: %d rows, %d targets", len(c.Rows), len(c.Targets)))
	}
	margins := loss.Count(c.Loss)
	switch l := c.Loss.(type) {
	case loss.RankOne, loss.General:
	case loss.Margins:
		c.Loss = loss.Joint(l)
	default:
		panic(fmt.Sprintf("optimizetest: loss = %v", c.Loss))
	}
	c.Repeat = max(c.Repeat, 1)
	o := &Oracle{config: c, margins: margins, ledger: account.NewLedger(c.Budget), noise: rand.New(rand.NewPCG(c.Seed, 0x0dac1e))}
	o.order = o.noise.Perm(len(c.Rows))
	o.unjoined = o.All().Size()
	return o
}

// All returns the cohort of all records.
func (o *Oracle) All() query.Cohort {
	n := float64(len(o.config.Rows) * o.config.Repeat)
	if o.config.Budget.Relation() == account.AddOrRemove {
		n = o.config.Declared
	}
	return query.NewCohort(account.Everyone, n)
}

// Dim returns the number of features.
func (o *Oracle) Dim() int { return len(o.config.Rows[0]) }

// Problem returns p with the oracle's number of records, relation and budget.
func (o *Oracle) Problem(p optimize.Problem) optimize.Problem {
	b := o.config.Budget
	p.Records, p.Relation, p.Mu, p.Budget = o.All().Size(), b.Relation(), b.Mu(), b
	return p
}

// Charged returns the total charge so far, rounded up.
func (o *Oracle) Charged() float64 { return o.ledger.Charged() }

// Draw returns a cohort of size records that are in no earlier cohort. It returns an error under add-or-remove, if each
// row stands for several records, if size is below 1, or if fewer than size records are left.
func (o *Oracle) Draw(size int) (query.Cohort, error) {
	start := o.used()
	if o.config.Repeat > 1 || o.config.Budget.Relation() != account.ReplaceOne || size < 1 || start+size > len(o.order) {
		return query.Cohort{}, fmt.Errorf("optimizetest: draw of %d records after %d", size, start)
	}
	return o.add(start+size, float64(size)), nil
}

// DrawEach returns a cohort that every record in no earlier cohort joins with probability p. It returns an
// error if p is not in (0, 1] or each row stands for several records.
func (o *Oracle) DrawEach(p float64) (query.Cohort, error) {
	if o.config.Repeat > 1 || !(p > 0 && p <= 1) || !(o.unjoined > 0) {
		return query.Cohort{}, fmt.Errorf("optimizetest: draw each with probability %v of the %v records left", p, o.unjoined)
	}
	end := o.used()
	for i := end; i < len(o.order); i++ {
		if o.noise.Float64() < p {
			o.order[i], o.order[end] = o.order[end], o.order[i]
			end++
		}
	}
	size := p * o.unjoined
	o.unjoined *= 1 - p
	return o.add(end, size), nil
}

func (o *Oracle) used() int {
	if len(o.drawn) == 0 {
		return 0
	}
	return o.drawn[len(o.drawn)-1]
}

func (o *Oracle) add(end int, size float64) query.Cohort {
	o.drawn, o.declared = append(o.drawn, end), append(o.declared, size)
	return query.NewCohort(uint64(len(o.drawn)), size)
}

// Select draws the index of a question by the exponential mechanism, computed in floating point. Low scores
// are more likely. If the oracle is noiseless, Select returns the first index with the lowest score.
func (o *Oracle) Select(ctx context.Context, s query.Selection) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	questions := s.Questions()
	rows, err := o.members(questions[0].Cohort())
	if err != nil {
		return 0, err
	}
	event, err := account.SelectionEvent(s.Name(), questions[0].Cohort().ID(), s.Epsilon())
	if err != nil {
		return 0, err
	}
	if err := o.ledger.Reserve(event); err != nil {
		return 0, err
	}
	best, least := 0, math.Inf(1)
	for i, q := range questions {
		mean, _ := o.mean(q, rows)
		score := mean[0]
		if !o.config.Noiseless {
			// With Gumbel noise of this scale, i is drawn with a probability proportional to exp(-epsilon score
			// size/(2 sensitivity)).
			scale := 2 * o.neighbours() * q.Clip() / q.Cohort().Size() / s.Epsilon()
			score += scale * math.Log(-math.Log(o.noise.Float64()))
		}
		if score < least {
			best, least = i, score
		}
	}
	return best, nil
}

// Ask answers the query and records it in Asked.
func (o *Oracle) Ask(ctx context.Context, q query.Question) (query.Release, error) {
	a := Asked{Question: q}
	a.Err = o.answer(ctx, &a)
	o.Asked = append(o.Asked, a)
	return query.Release{Mean: append([]float64(nil), a.Answer.Mean...), Sigma: a.Answer.Sigma, Charge: a.Answer.Charge},
		a.Err
}

func (o *Oracle) answer(ctx context.Context, a *Asked) error {
	if o.config.Script != nil {
		if err := o.config.Script(len(o.Asked)); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	q := a.Question
	d := o.Dim()
	if q.Facts().Losses != query.NoLoss {
		d = loss.Parameters(o.config.Loss, d)
	}
	if q.PointDim() != d {
		return fmt.Errorf("optimizetest: point has %d coordinates: must have %d", q.PointDim(), d)
	}
	margins := loss.Count(o.config.Loss)
	if q.Facts().Weighted {
		margins = max(margins, o.margins)
	}
	if !q.Facts().Suits(query.Margins(o.config.Loss, margins), loss.Products(o.config.Loss), loss.UnitOfMargin(o.config.Loss)) {
		return fmt.Errorf("optimizetest: %s of a loss that writes its own gradient", q.Name())
	}
	var rows []int
	var event account.Event
	var err error
	if q.Cohort().ID()&sampleBit != 0 {
		rows, event, err = o.sampled(q)
	} else if rows, err = o.members(q.Cohort()); err == nil {
		sensitivity := q.Facts().Moves(o.config.Budget.Relation()) * q.Clip()
		// The last factor ensures that the charge, rounded up, is at most the offered charge.
		sigma := sensitivity / math.Sqrt(q.Charge()) * (1 + 0x1p-50)
		event, err = account.GaussianEvent(q.Name(), q.Cohort().ID(), sensitivity, sigma)
	}
	if err != nil {
		return err
	}
	sigma := event.Sigma
	if err := o.ledger.Reserve(event); err != nil {
		return err
	}
	a.Exact, a.Clipped = o.mean(q, rows)
	size := q.Cohort().Size()
	a.Answer = query.Release{Mean: append([]float64(nil), a.Exact...), Sigma: sigma / size, Charge: event.Charge}
	if !o.config.Noiseless {
		for j := range a.Answer.Mean {
			a.Answer.Mean[j] += sigma / size * o.noise.NormFloat64()
		}
	}
	return nil
}

func (o *Oracle) neighbours() float64 {
	if o.config.Budget.Relation() == account.AddOrRemove {
		return 1
	}
	return 2
}

// members returns the row numbers of the cohort's records.
func (o *Oracle) members(c query.Cohort) ([]int, error) {
	if c == o.All() {
		return o.order, nil
	}
	k := int(c.ID())
	if k < 1 || k > len(o.drawn) {
		return nil, fmt.Errorf("optimizetest: cohort %d: not drawn here", k)
	}
	start := 0
	if k > 1 {
		start = o.drawn[k-2]
	}
	if c.Size() != o.declared[k-1] {
		return nil, fmt.Errorf("optimizetest: cohort %d: size = %v: not drawn here", k, c.Size())
	}
	return o.order[start:o.drawn[k-1]], nil
}
