package report

import (
	"math"
	"strconv"
	"strings"
)

// scale maps values to positions along an axis of a plot.
type scale struct {
	log      bool
	lo, hi   float64 // values at the ends
	from, to float64 // positions of the ends
}

// newScale returns a scale for the axis a between the positions from and to. If a.Min < a.Max, the scale
// covers exactly that range. Otherwise it covers the values from lo to hi with some margin at both ends,
// and a linear scale starts or ends at 0 if 0 is near.
func newScale(a Axis, lo, hi, from, to float64) scale {
	s := scale{log: a.Log, lo: lo, hi: hi, from: from, to: to}
	if a.Min < a.Max {
		s.lo, s.hi = a.Min, a.Max
		return s
	}
	if s.log {
		margin := .06 * (math.Log(hi) - math.Log(lo))
		if !(margin > .02) {
			margin = math.Log(2)
		}
		s.lo, s.hi = lo*math.Exp(-margin), hi*math.Exp(margin)
		return s
	}
	margin := .05 * (hi - lo)
	if !(margin > 1e-290) { // for a smaller range, rounding would lose the digits of a step
		margin = max(math.Abs(lo)/2, .5)
	}
	s.lo, s.hi = lo-margin, hi+margin
	if lo >= 0 && s.lo < .3*hi { // if zero is near, the axis starts there
		s.lo = 0
	}
	if hi <= 0 && s.hi > .3*lo {
		s.hi = 0
	}
	return s
}

// at returns the position of a value along the axis. The value may be outside the axis.
func (s scale) at(x float64) float64 {
	share := (x - s.lo) / (s.hi - s.lo)
	if s.log {
		share = (math.Log(x) - math.Log(s.lo)) / (math.Log(s.hi) - math.Log(s.lo))
	}
	return s.from + share*(s.to-s.from)
}

// holds reports whether a value is within the axis, up to rounding errors.
func (s scale) holds(x float64) bool {
	slack := 1e-9 * (s.hi - s.lo)
	if s.log {
		return x >= s.lo*(1-1e-9) && x <= s.hi*(1+1e-9)
	}
	return x >= s.lo-slack && x <= s.hi+slack
}

// tick is a mark on an axis. A minor tick has no label.
type tick struct {
	at    float64
	label string
}

// ticks returns the marks of the axis: at round steps on a linear axis, at decades on a logarithmic axis.
// About as many marks as the number most have a label.
func (s scale) ticks(most int) []tick {
	if s.log {
		return s.logTicks(most)
	}
	return s.linearTicks(most)
}

func (s scale) linearTicks(most int) []tick {
	step := roundStep((s.hi - s.lo) / float64(most))
	var list []tick
	for i := math.Ceil(s.lo/step - 1e-9); i <= s.hi/step+1e-9; i++ {
		list = append(list, tick{i * step, tickLabel(i*step, step)})
	}
	return list
}

// roundStep returns the smallest number of the form 1, 2 or 5 times a power of ten that is at least x.
func roundStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= x*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// tickLabel formats x, a multiple of step, with enough digits to distinguish x from the next multiples.
func tickLabel(x, step float64) string {
	if math.Abs(x) < step/2 {
		return "0"
	}
	if e := math.Floor(math.Log10(math.Abs(x)) + 1e-9); e < -4 || e > 6 {
		places := max(0, int(e-math.Floor(math.Log10(step)+1e-9)))
		mantissa, power, _ := strings.Cut(strconv.FormatFloat(math.Abs(x), 'e', places, 64), "e")
		n, _ := strconv.Atoi(power)
		return sign(x) + trimZeros(mantissa) + "×10" + superscript(n)
	}
	places := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	return sign(x) + grouped(strconv.FormatFloat(math.Abs(x), 'f', places, 64))
}

// logTicks labels the decades of a logarithmic axis. If the axis has more than most decades, it labels only
// every second decade, every third and so on. If this gives fewer than three labels, it also labels 2 and 5
// times each decade. If this gives fewer than two labels, it labels 1 to 9 times each decade. If this also
// gives fewer than two, it uses the steps of a linear axis.
func (s scale) logTicks(most int) []tick {
	first, last := math.Floor(math.Log10(s.lo)), math.Ceil(math.Log10(s.hi))
	// The logarithms are subtracted, because the quotient hi/lo could be outside the range of float64.
	every := max(1, math.Ceil((math.Log10(s.hi)-math.Log10(s.lo))/float64(most)))
	for _, named := range []string{"1", "125", "123456789"} {
		var list []tick
		count := 0
		for e := first; e <= last; e++ {
			for m := 1.0; m <= 9; m++ {
				v := m * math.Pow(10, e)
				if !s.holds(v) || (every > 1 && m > 1) {
					continue
				}
				t := tick{at: v}
				if strings.ContainsRune(named, rune('0'+int(m))) && math.Mod(e, every) == 0 {
					t.label = powerLabel(v, m, int(e))
					count++
				}
				list = append(list, t)
			}
		}
		if count >= 3 || (count == 2 && named != "1") {
			return list
		}
	}
	return s.linearTicks(most)
}

// powerLabel formats the number v = m 10^e: as a decimal number if e is between -3 and 5, otherwise with a
// power of ten.
func powerLabel(v, m float64, e int) string {
	if e >= -3 && e <= 5 {
		return grouped(trimZeros(strconv.FormatFloat(v, 'f', max(0, -e), 64)))
	}
	if m == 1 {
		return "10" + superscript(e)
	}
	return strconv.FormatFloat(m, 'f', 0, 64) + "×10" + superscript(e)
}
