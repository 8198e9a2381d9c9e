package report

import (
	_ "embed" // words.txt
	"math"
	"strconv"
	"strings"
	"unicode"
)

// words has the fixed texts of a report's page, each below a line with its name.
//
//go:embed words.txt
var words string

// passage returns the text of the given name as one line.
func passage(name string) string {
	_, after, _ := strings.Cut(words, "\n# "+name+"\n")
	text, _, _ := strings.Cut(after, "\n\n")
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", " ")
}

// clean replaces each character that a page must not contain by U+FFFD, the replacement character: invalid UTF-8,
// control characters except line feed and tab, U+FFFE, U+FFFF, and characters that change the direction of text.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == 0xFFFE,
			r == 0xFFFF:
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// oneLine cleans a text as clean does, and also replaces line feeds by U+FFFD and tabs by spaces.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "\uFFFD", "\t", " ").Replace(clean(s))
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// escape makes a text safe as the content of an element or inside a quoted attribute of HTML and XML.
func escape(s string) string { return escaper.Replace(oneLine(s)) }

// wide estimates the width of a text in units of its font size. The estimate holds for the widest font that
// may be used.
func wide(s string) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune(" .,:;'|!()[]ijlftrI/-", r):
			w += .38
		case strings.ContainsRune("mwMW@%—=+−×", r):
			w += .92
		case r >= 0x1100 && r != '…' && (r < 0x2000 || r > 0x22FF):
			w += 1
		case unicode.IsUpper(r):
			w += .72
		default:
			w += .62
		}
	}
	return w
}

// shorten cuts a text to a width, in units of its font size, and marks the cut with an ellipsis. A text
// within the width is returned unchanged.
func shorten(s string, width float64) string {
	if wide(s) <= width {
		return s
	}
	left := width - wide("…")
	for i, r := range s {
		if left -= wide(string(r)); left < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// Number writes a number for readers with three significant digits: 0.00352, 32,561, 4.1×10⁻⁷. Whole
// numbers below 10^15 keep all digits.
func Number(x float64) string { return digits(x, 3) }

// digits writes a number for readers with n significant digits. Whole numbers below 10^15 keep all digits.
func digits(x float64, n int) string {
	switch {
	case math.IsNaN(x):
		return "not a number"
	case math.IsInf(x, 0):
		return sign(x) + "infinite"
	case x == math.Trunc(x) && math.Abs(x) < 1e15:
		return sign(x) + grouped(strconv.FormatFloat(math.Abs(x), 'f', 0, 64))
	}
	s := strconv.FormatFloat(math.Abs(x), 'e', n-1, 64)
	mantissa, power, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(power)
	if e < -4 || e >= 9 {
		return sign(x) + trimZeros(mantissa) + "×10" + superscript(e)
	}
	rounded, _ := strconv.ParseFloat(s, 64)
	return sign(x) + grouped(trimZeros(strconv.FormatFloat(rounded, 'f', max(0, n-1-e), 64)))
}

func sign(x float64) string {
	if x < 0 {
		return "−"
	}
	return ""
}

func trimZeros(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// grouped inserts commas between thousands if the number has more than four digits before the point.
func grouped(s string) string {
	whole, fraction, has := strings.Cut(s, ".")
	if len(whole) > 4 {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
	}
	if has {
		whole += "." + fraction
	}
	return whole
}

var raised = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7",
	"⁷", "8", "⁸", "9", "⁹")

func superscript(n int) string { return raised.Replace(strconv.Itoa(n)) }

// Above writes x for readers with n significant digits, rounded up. The figures of a guarantee must be rounded up.
func Above(x float64, n int) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return digits(x, n)
	}
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', n-1, 64), 64)
	if y < x {
		y += math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-float64(n-1))
		y, _ = strconv.ParseFloat(strconv.FormatFloat(y, 'e', n-1, 64), 64)
	}
	return digits(y, n)
}

// exact writes a number with all its digits, enough to identify the float64. A delta of 1e-6 is written 10⁻⁶.
func exact(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return Number(x)
	}
	s := strconv.FormatFloat(math.Abs(x), 'g', -1, 64)
	mantissa, power, scientific := strings.Cut(s, "e")
	if !scientific {
		return sign(x) + grouped(mantissa)
	}
	e, _ := strconv.Atoi(power)
	if mantissa == "1" {
		return sign(x) + "10" + superscript(e)
	}
	return sign(x) + mantissa + "×10" + superscript(e)
}

// percent writes a share from 0 to 1 as a percentage with one decimal, or two decimals below 1 % and above
// 99 %. If above is true, it rounds up, to at most 100 %.
func percent(x float64, above bool) string {
	places := 1
	if x > 0 && (x < .01 || x > .99) {
		places = 2
	}
	unit := math.Pow(10, float64(places))
	y := math.Round(x * 100 * unit)
	if above {
		y = min(max(math.Ceil(x*100*unit-1e-9), 0), 100*unit)
	}
	return trimZeros(strconv.FormatFloat(y/unit, 'f', places, 64)) + " %"
}

// count writes a number and a noun: the singular one if n is 1, otherwise the plural many.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(float64(n)) + " " + many
}
