package synthetic

import (
	"math"
	"slices"
	"sync"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/repromath"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
)

// Constants of the search for masses: at most iterations steps of exponentiated gradient, of size rate with momentum,
// and at most mostWork products of two features. No mass is above mostMass times the mean mass. A step after which the
// distance rises by more than a share of rise halves the size.
const (
	iterations = 100
	rate       = 20.
	momentum   = .7
	mostMass   = 20.
	rise       = .02
	mostWork   = 1 << 33
	parts      = 8 // of the rows, whose sums are added in their order
)

// Nonzero returns the number of features of a row under the schema s that are not zero, if no cell is missing.
func Nonzero(s *dataset.Schema) float64 {
	n := 1 // the last feature
	for _, c := range s.Columns() {
		if c.Kind != dataset.Ignore && c.Kind != dataset.Public {
			n++
		}
	}
	for _, h := range s.Hats() {
		n += 1 << len(h.Axes)
	}
	return float64(n)
}

// Products returns about how many products New computes for Rows rows with the given number of nonzero features.
func Products(nonzero float64) float64 {
	work := float64(Rows * nonzero * nonzero)
	return work * min(iterations, max(mostWork/work, 1))
}

// sparse has the nonzero features of rows.
type sparse struct {
	first []int32 // the place in at of each row's first feature, and the end
	at    []int32
	value []float64
}

// weigh finds the masses of rows: by exponentiated gradient it lowers ||sum_i m_i x_i x_i' - moment||^2 from equal
// masses on (Kivinen and Warmuth 1997). The first masses on the way that are near the moment are those of about
// maximal entropy.
func (p *Population) weigh(moment []float64) {
	rows := p.sparse()
	n, d := len(rows.first)-1, p.schema.Dim()
	equal := 1 / float64(n)
	p.Mass = make([]float64, n)
	logs, along := make([]float64, n), make([]float64, n)
	way := make([]float64, d*d)
	eta, before := rate, math.Inf(1)
	var work float64
	for i := range n {
		k := float64(rows.first[i+1] - rows.first[i])
		work += float64(k * k)
	}
	for range min(iterations, max(int(mostWork/work), 1)) {
		p.normalise(logs, equal)
		seen := rows.moment(p.Mass, d)
		var square float64
		for j := range d {
			for k := range j + 1 {
				e := seen[j*d+k] - (moment[j*d+k]/2 + moment[k*d+j]/2)
				seen[j*d+k] = e
				if k < j {
					e *= math.Sqrt2
				}
				square += float64(e * e)
			}
		}
		p.Error = math.Sqrt(square)
		if p.Error > before*(1+rise) {
			eta /= 2
			clear(way)
		}
		before = p.Error
		for j, e := range seen {
			way[j] = float64(momentum*way[j]) + e
		}
		rows.along(along, way, d)
		mean := vector.Dot(along, p.Mass)
		for i, v := range along {
			logs[i] -= float64(eta * (v - mean))
		}
	}
	p.normalise(logs, equal)
}

func (p *Population) normalise(logs []float64, equal float64) {
	most := slices.Max(logs)
	for _, limit := range []float64{math.Inf(1), mostMass * equal} {
		var sum float64
		for i, v := range logs {
			if math.IsInf(limit, 1) {
				p.Mass[i] = repromath.Exp(v - most)
			} else {
				p.Mass[i] = min(p.Mass[i], limit)
			}
			sum += p.Mass[i]
		}
		for i := range p.Mass {
			p.Mass[i] /= sum
		}
	}
}

func (p *Population) sparse() *sparse {
	n := len(p.readings[0])
	s := &sparse{first: make([]int32, 1, n+1)}
	x := make([]float32, p.schema.Dim())
	for i := range n {
		p.rows.EncodeReadingsWhole(x, p.readings, i)
		for j, v := range x {
			if v != 0 {
				s.at, s.value = append(s.at, int32(j)), append(s.value, float64(v))
			}
		}
		s.first = append(s.first, int32(len(s.at)))
	}
	return s
}

// each calls f for each part of the rows, with the range of its rows, and waits.
func (s *sparse) each(f func(part, from, to int)) {
	n := len(s.first) - 1
	var done sync.WaitGroup
	for k := range parts {
		done.Go(func() { f(k, n*k/parts, n*(k+1)/parts) })
	}
	done.Wait()
}

// moment returns the lower triangle of the second moment of the rows with the given masses.
func (s *sparse) moment(mass []float64, d int) []float64 {
	sums := make([][]float64, parts)
	s.each(func(part, from, to int) {
		sum := make([]float64, d*d)
		for i := from; i < to; i++ {
			at, value := s.at[s.first[i]:s.first[i+1]], s.value[s.first[i]:s.first[i+1]]
			for a, j := range at {
				row, m := sum[int(j)*d:], float64(mass[i]*value[a])
				for b, k := range at[:a+1] {
					row[k] += float64(m * value[b])
				}
			}
		}
		sums[part] = sum
	})
	for _, sum := range sums[1:] {
		vector.Add(sums[0], 1, sum)
	}
	return sums[0]
}

// along sets out[i] to x_i' W x_i, for the symmetric matrix W whose lower triangle is way.
func (s *sparse) along(out, way []float64, d int) {
	s.each(func(_, from, to int) {
		for i := from; i < to; i++ {
			at, value := s.at[s.first[i]:s.first[i+1]], s.value[s.first[i]:s.first[i+1]]
			var sum float64
			for a, j := range at {
				row := way[int(j)*d:]
				var beside float64
				for b, k := range at[:a] {
					beside += float64(row[k] * value[b])
				}
				sum += float64(value[a] * (float64(2*beside) + float64(row[j]*value[a])))
			}
			out[i] = sum
		}
	})
}
