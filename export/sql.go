package export

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/stillpoint-dp/stillpoint/dataset"
	"github.com/stillpoint-dp/stillpoint/internal/safetext"
	"github.com/stillpoint-dp/stillpoint/internal/vector"
	"github.com/stillpoint-dp/stillpoint/model"
)

// Query says which table a query scores, and for which database.
type Query struct {
	// Dialect is one of [Dialects].
	Dialect string
	// Table is the source of the rows, written as the database expects it after FROM.
	Table string
	// Keep lists columns of the table, such as its key, that the query copies before the predictions.
	Keep []string
}

// SQL returns the model as a query in one statement. The query returns one row for each row of the table,
// with the columns in q.Keep and the columns of [model.Model.Predict]. The package documentation describes
// how cells are read and how closely the results agree with Predict. SQL returns an error if the dialect is
// unknown, the table is empty, or a date layout or a name cannot be used in a query.
//
// The query needs the functions EXP, LN and SQRT, and for features of effects COS and SIN. SQLite has them only if it
// was built with its mathematical functions. The query consists of steps, each a list of columns that are computed
// once:
//
//	cell     numbers, days of dates and trimmed texts of categories
//	hash, bucket  buckets of hash columns
//	unit     u/S for each number, and the indicators of missing cells
//	square   the squared norm ||x||^2
//	norm     max(1, ||x||)
//	share    u/S for each number, and 1/S, divided by the norm
//	feature  the columns of share rounded to float32
//	ratio, way, knot, hat, hung  the hats of curves and interactions
//	sum      W x, the weighted sums: the margins, or the inputs of a network's first layer
//	angle, wave  the angles of a row's effects, and the margin with their cosines and sines
//	layer1, sum1, ...  the outputs of a network's layer, and the weighted sums of these
//	top, power, prediction  the terms of probabilities, and the prediction to be clamped
//
// Steps that the model does not need are left out.
func SQL(m *model.Model, q Query) (string, error) {
	f, err := newForm(m)
	if err != nil {
		return "", err
	}
	d, known := dialects[q.Dialect]
	if !known {
		return "", fmt.Errorf("export: dialect = %q: must be one of %s", q.Dialect, strings.Join(Dialects(), ", "))
	}
	if strings.TrimSpace(q.Table) == "" {
		return "", fmt.Errorf("export: table = %q: must name the table to be scored", q.Table)
	}
	s := &query{form: f, dialect: d, from: q.Table, prefix: "_"}
	if err := s.check(q.Keep); err != nil {
		return "", err
	}
	s.keep = vector.Map(q.Keep, d.identifier)
	for slices.ContainsFunc(q.Keep, func(k string) bool { return strings.HasPrefix(strings.ToLower(k), s.prefix) }) {
		s.prefix += "_"
	}
	s.cells()
	s.buckets()
	s.units()
	s.rows()
	s.hang()
	s.sum()
	s.wave()
	s.network()
	s.link()
	return s.text.String(), nil
}

// query is an SQL query under construction.
type query struct {
	*form
	dialect
	keep []string // quoted names
	// prefix begins the names of the query's own columns and steps.
	prefix string
	from   string // the last step, or the table before the first step
	text   strings.Builder
	// numbers are the number and date columns; categories are the category and hash columns.
	numbers, categories []column
}

// check sets s.numbers and s.categories. It returns an error if a date column has a layout that is not ISO 8601, if a
// name has a character that is not graphic, or if a kept column has the name of a prediction column.
func (s *query) check(keep []string) error {
	s.numbers, s.categories = s.kinds()
	for _, c := range s.numbers {
		if c.Layout != "" {
			return fmt.Errorf("export: column %q: its dates are laid out %s, which databases read each in their own way: "+
				"only dates of ISO 8601 can be scored in a query: score by predict, or export to ONNX", c.Name, c.Layout)
		}
	}
	names := slices.Concat(keep, vector.Map(s.columns, func(c column) string { return c.Name }), s.target.Classes)
	for _, name := range names {
		if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			return fmt.Errorf("export: name %q: must hold visible characters only, to be written in a query", name)
		}
	}
	for _, name := range keep {
		if slices.Contains(s.results(), name) {
			return fmt.Errorf("export: keep = %q: must be another name than a prediction's", name)
		}
	}
	return nil
}

// results returns the names of the query's prediction columns, such as probability and class.
func (s *query) results() []string {
	switch s.output {
	case model.Value, model.Rate:
		return []string{"prediction"}
	case model.Risk:
		return []string{"risk"}
	case model.Probabilities:
		return append(vector.Map(s.target.Classes, func(c string) string { return "probability=" + c }), "class")
	case model.Probability:
		return []string{"probability", "class"}
	}
	return []string{"score", "class"}
}

// own returns the quoted name of one of the query's own columns: the prefix, name and i. No kept column has
// this name.
func (s *query) own(name string, i int) string {
	return s.identifier(s.prefix + name + strconv.Itoa(i))
}

// item is a column of a step of the query: an SQL expression and the name of the column.
type item struct{ expression, name string }

// step adds to the query a step (a common table expression) whose columns are the kept columns and the
// given items. The items' expressions refer by name to the columns of the step before.
func (s *query) step(name string, items ...item) {
	name = s.identifier(s.prefix + name)
	s.text.WriteString(", " + name + s.with + "(\n")
	s.pick(items)
	s.text.WriteString(")")
	s.from = name
}

// pick writes a SELECT of the kept columns and the items from the query's last step.
func (s *query) pick(items []item) {
	s.text.WriteString("  SELECT " + strings.Join(s.keep, ", "))
	for i, it := range items {
		if i > 0 || len(s.keep) > 0 {
			s.text.WriteString(",\n    ")
		}
		s.text.WriteString(it.expression)
		if it.name != it.expression {
			s.text.WriteString(" AS " + it.name)
		}
	}
	s.text.WriteString("\n  FROM " + s.from + "\n")
}

func (s *query) head() {
	for _, entry := range s.told() {
		fmt.Fprintf(&s.text, "-- %-10s %s\n", entry[0], safetext.Text(entry[1]))
	}
}

// cells writes the head of the query and the step that reads the cells of the table: numbers as float64,
// dates as days, categories and hash columns as trimmed text.
func (s *query) cells() {
	space, step := s.identifier(s.prefix+"space"), s.identifier(s.prefix+"white")
	white := "(SELECT " + space + " FROM " + step + ")"
	s.head()
	s.text.WriteString("WITH " + step + " AS (\n  SELECT " + s.spaces() + " AS " + space + "\n)")
	var items []item
	for i, c := range s.numbers {
		read := s.number
		if c.Kind == dataset.Date {
			read = s.days
		}
		items = append(items, item{read(s.identifier(c.Name), white), s.own("n", i)})
	}
	for i, c := range s.categories {
		items = append(items, item{s.dialect.text(s.identifier(c.Name), white), s.own("c", i)})
	}
	s.step("cell", items...)
}

// buckets adds the two steps that compute the bucket of each cell of a hash column, as [dataset.Hashing]
// defines it. A missing cell gets the bucket NULL, for which lookup takes the feature "other". It adds
// nothing if there is no hash column.
func (s *query) buckets() {
	if len(hashed(s.categories)) == 0 {
		return
	}
	var sums, items []item
	for i, c := range s.categories {
		cell := s.own("c", i)
		if c.Kind != dataset.Hash {
			sums, items = append(sums, item{cell, cell}), append(items, item{cell, cell})
			continue
		}
		h := c.Hashing()
		sum := s.points(cell, func(point, place string) string {
			u := s.mod(fmt.Sprintf("(%d * %s + %d * %s + %d)", h.Point, point, h.Place, place, h.Salt), h.Prime)
			v := s.mod("("+u+" * "+u+")", h.Other)
			return s.mod("("+v+" * "+v+")", h.Prime)
		})
		missing := cell + " IS NULL OR " + cell + " IN (" +
			strings.Join(vector.Map(append([]string{""}, s.model.Schema().Missing()...), s.quote), ", ") + ")"
		sums = append(sums, item{fmt.Sprintf("CASE WHEN NOT (%s) THEN %s END", missing,
			s.mod(fmt.Sprintf("(%d + %s)", h.Salt, sum), h.Other)), cell})
		items = append(items, item{s.mod(s.mod("("+cell+" * "+cell+")", h.Prime), int64(c.Buckets)), cell})
	}
	s.step("hash", append(sums, s.carried("n", len(s.numbers))...)...)
	s.step("bucket", append(items, s.carried("n", len(s.numbers))...)...)
}

// units adds the step that computes the features of number and date columns before the division by the
// row's norm: u/S, with u the number scaled to [-1, 1], or 0 if it is missing, and S the schema's scale. It
// also computes their indicators of missing cells, 1 or 0. It adds nothing if there are no such columns.
func (s *query) units() {
	if len(s.numbers) == 0 {
		return
	}
	var items []item
	for i, c := range s.numbers {
		items = append(items, item{s.unit(c, s.own("n", i)) + " / " + s.literal(s.scale), s.own("u", i)})
		if c.Indicator {
			items = append(items, item{"CASE WHEN " + s.missing(c, s.own("n", i)) + " THEN 1 ELSE 0 END", s.own("m", i)})
		}
	}
	s.step("unit", append(items, s.carried("c", len(s.categories))...)...)
}

// carried returns as items those columns of the query's previous step that have the given name and an index
// of columns. With these items the next step has the same columns.
func (s *query) carried(name string, n int) []item {
	return vector.Make(n, func(i int) item { return item{s.own(name, i), s.own(name, i)} })
}

// indicators returns as items those columns of the query's previous step that are indicators of missing
// cells. With these items the next step has the same columns.
func (s *query) indicators() (items []item) {
	for i, c := range s.numbers {
		if c.Indicator {
			items = append(items, item{s.own("m", i), s.own("m", i)})
		}
	}
	return items
}

// missing returns an SQL condition that is true if a cell of the number or date column c is missing: n, the
// expression for its value, is NULL, NaN or a missing marker.
func (s *query) missing(c column, n string) string {
	missing := n + " IS NULL"
	if s.nan != nil {
		missing += " OR " + s.nan(n)
	}
	for _, marker := range c.markers {
		missing += " OR " + n + " = " + s.literal(marker)
	}
	return missing
}

func (s *query) unit(c column, n string) string {
	from, to := c.Transformed()
	t := n
	if c.Transform == dataset.Log1p {
		v := "(" + s.literal(1) + " + " + n + ")"
		t = fmt.Sprintf("%s(%s(LN(%s) + (%s - (%s - %s)) / %s, %s), %s)", s.least, s.greatest, v, n, v, s.literal(1), v,
			s.literal(from), s.literal(to))
	}
	return fmt.Sprintf("CASE WHEN %s THEN %s WHEN %s <= %s THEN %s WHEN %s >= %s THEN %s ELSE %s * ((%s - %s) / %s) - "+
		"%s END", s.missing(c, n), s.literal(0), n, s.literal(c.Low), s.literal(-1), n, s.literal(c.High), s.literal(1),
		s.literal(2), t, s.literal(from), s.literal(to-from), s.literal(1))
}

// rows adds the steps that divide the features of a row by max(1, ||x||) and round them to float32. The
// last of these columns is the value of the intercept, which a category's feature also has if it is not 0.
func (s *query) rows() {
	same := len(s.categories) + len(s.crosses) + 1
	for _, h := range s.hats {
		same += most(h)
	}
	squares := []string{s.literal(float64(s.share*s.share) * float64(same))}
	for i := range s.numbers {
		squares = append(squares, s.own("u", i)+" * "+s.own("u", i))
		if s.numbers[i].Indicator {
			squares = append(squares, s.own("m", i)+" * "+s.literal(float64(s.share*s.share)))
		}
	}
	sum := s.identifier(s.prefix + "s")
	looked := append(s.indicators(), s.carried("c", len(s.categories))...)
	carried := append(s.carried("u", len(s.numbers)), looked...)
	s.step("square", append([]item{{total(squares), sum}}, carried...)...)
	norm := s.identifier(s.prefix + "norm")
	s.step("norm", append([]item{{fmt.Sprintf("CASE WHEN %s > %s THEN SQRT(%s) ELSE %s END", sum, s.literal(1), sum,
		s.literal(1)), norm}}, carried...)...)

	var shares, features []item
	for i := range len(s.numbers) + 1 {
		u, y := s.literal(s.share), s.own("y", i)
		if i < len(s.numbers) {
			u = s.own("u", i)
		}
		shares = append(shares, item{u + " / " + norm, y})
		features = append(features, item{s.float32(y), s.own("x", i)})
	}
	s.step("share", append(shares, looked...)...)
	s.step("feature", append(features, looked...)...)
}

// float32 returns an SQL expression for y rounded to float32. With p = 2^29+1, Veltkamp's expression
//
//	p y + (y - p y)
//
// with a rounding after each operation, keeps the 24 leading bits of y (Dekker 1971, 5.6).
func (s *query) float32(y string) string {
	p := y + " * " + s.literal(1<<29+1)
	return p + " + (" + y + " - " + p + ")"
}

// sum adds the step that computes the weighted sums over the features. A number's feature is multiplied by
// its weight. The weight of a category's level is looked up by the cell, and the sum of these weights is
// multiplied by the value of the intercept.
func (s *query) sum() {
	one := s.one()
	var items []item
	for k := range s.sums {
		var terms []string
		constants := []string{s.literal(s.weight(k, s.intercept()))}
		for i, c := range s.numbers {
			if !s.within(k, c.at) {
				continue
			}
			terms = append(terms, s.own("x", i)+" * "+s.literal(s.weight(k, c.at)))
			if c.Indicator {
				constants = append(constants, s.own("m", i)+" * "+s.literal(s.weight(k, c.at+1)))
			}
		}
		for i, c := range s.categories {
			if !s.within(k, c.at) {
				continue
			}
			constants = append(constants, s.lookup(c, s.own("c", i), func(level int) string {
				return s.literal(s.weight(k, c.at+level))
			}))
		}
		for _, x := range s.crosses {
			if !s.within(k, x.at) {
				continue
			}
			constants = append(constants, s.lookup(x.a, s.cell(x.a), func(a int) string {
				return s.lookup(x.b, s.cell(x.b), func(b int) string { return s.literal(s.weight(k, x.at+a*x.b.width()+b)) })
			}))
		}
		terms = append(append(terms, s.hatTerms(k)...), one+" * "+total(constants))
		items = append(items, item{total(terms), s.own("z", k)})
	}
	s.step("sum", items...)
}

// network adds the steps that compute the margins of a network, or of ordered classes, from the weighted sums over the
// features. It adds nothing for other models.
func (s *query) network() {
	if s.thresholds != nil {
		above, below, gap := s.ordered()
		z := s.own("z", 0)
		s.step("classes", vector.Make(len(gap), func(k int) item {
			return item{s.literal(gap[k]) + " - " + s.softplus(z+" - "+s.literal(above[k])) + " - " +
				s.softplus(s.literal(below[k])+" - "+z), s.own("z", k)}
		})...)
	}
	for l, above := range s.layers() {
		scale := 1 / math.Sqrt(float64(len(above)))
		units, constant := above[:len(above)-1], above[len(above)-1]
		var next []item
		s.step("layer"+strconv.Itoa(l+1), vector.Make(len(units), func(j int) item {
			return item{s.activated(s.own("z", j)) + " * " + s.literal(scale), s.own("h", j)}
		})...)
		for k, bias := range constant {
			terms := []string{s.literal(float64(bias * scale))}
			for j, row := range units {
				terms = append(terms, s.own("h", j)+" * "+s.literal(row[k]))
			}
			next = append(next, item{total(terms), s.own("z", k)})
		}
		s.step("sum"+strconv.Itoa(l+1), next...)
	}
}

// activated returns an SQL expression for the output of a network's unit with input u: relu or tanh. As in
// package loss, tanh is 1 - 2/(1+e^(2u)).
func (s *query) activated(u string) string {
	if s.activation == "relu" {
		return fmt.Sprintf("%s(%s, %s)", s.greatest, u, s.literal(0))
	}
	power := s.power(u + " * " + s.literal(2))
	return fmt.Sprintf("(%s - %s / (%s + %s))", s.literal(1), s.literal(2), s.literal(1), power)
}

// softplus returns an SQL expression for log(1 + e^x).
func (s *query) softplus(x string) string {
	return fmt.Sprintf("(%s(%s, %s) + LN(%s + %s))", s.greatest, x, s.literal(0), s.literal(1), s.power("-ABS("+x+")"))
}

// power returns an SQL expression for e^x with x clamped to [-700, 700], because some databases raise an
// error for larger exponents. The clamping changes a probability or a tanh by at most about e^-700. A rate
// is at least e^-700 and at most e^700 times the rate for the margin 0.
func (s *query) power(x string) string {
	const most = 700
	return fmt.Sprintf("EXP(%s(%s(%s, %s), %s))", s.least, s.greatest, x, s.literal(-most), s.literal(most))
}

// cell returns the name of the query's own column with the trimmed cell of a category.
func (s *query) cell(c column) string {
	return s.own("c", slices.IndexFunc(s.categories, func(other column) bool { return other.Name == c.Name }))
}

// lookup returns a CASE expression whose value is the expression of(level) for the level of a cell. The
// cell holds a value of the category c, or a bucket of the hash column c. A cell with no listed value and
// no bucket has the last level, "other".
func (s *query) lookup(c column, cell string, of func(level int) string) string {
	var b strings.Builder
	b.WriteString("CASE " + cell)
	for i, v := range c.Categories {
		b.WriteString(" WHEN " + s.quote(v) + " THEN " + of(i))
	}
	for i := range c.Buckets {
		b.WriteString(" WHEN " + strconv.Itoa(i) + " THEN " + of(i))
	}
	b.WriteString(" ELSE " + of(c.levels()) + " END")
	return b.String()
}

// link ends the query with the SELECT of the kept columns and the predictions, which are computed from the
// margins.
func (s *query) link() {
	z := s.own("z", 0)
	names := vector.Map(s.results(), s.identifier)
	var items []item
	switch s.output {
	case model.Value:
		half, mid := s.inUnits()
		items = []item{{s.clamped(z + " * " + s.literal(half) + " + " + s.literal(mid)), names[0]}}
	case model.Risk:
		if s.odds == nil {
			items = []item{{"1 - " + s.power("-("+s.power(z)+")"), names[0]}}
			break
		}
		p := s.own("p", 0)
		s.step("power", item{s.power(z), p})
		left := vector.Map(s.odds, func(h float64) string {
			return fmt.Sprintf("(%s / (%s + %s * %s))", s.literal(1), s.literal(1), s.literal(h), p)
		})
		items = []item{{"1 - " + strings.Join(left, " * "), names[0]}}
	case model.Rate:
		items = []item{{s.clamped(s.power(z) + " * " + s.literal(s.target.Rate())), names[0]}}
	case model.Probabilities:
		items = s.probabilities(names)
	case model.Probability:
		items = []item{{fmt.Sprintf("%s / (%s + %s)", s.literal(1), s.literal(1), s.power("-"+z)), names[0]},
			{s.positive(z), names[1]}}
	case model.Score:
		items = []item{{z, names[0]}, {s.positive(z), names[1]}}
	}
	s.text.WriteString("\n")
	s.pick(items)
}

// clamped returns an SQL expression for a prediction in the target's units. If the model is Clamped, it
// adds a step that computes the prediction, and the expression clamps it to the target's bounds.
func (s *query) clamped(prediction string) string {
	if !s.model.Clamped() {
		return prediction
	}
	x := s.own("x", 0)
	s.step("prediction", item{prediction, x})
	low, high := s.literal(s.target.Low), s.literal(s.target.High)
	return fmt.Sprintf("CASE WHEN %s < %s THEN %s WHEN %s > %s THEN %s ELSE %s END", x, low, low, x, high, high, x)
}

// positive returns an SQL expression for the predicted class: the second class if the margin z is positive,
// otherwise the first class.
func (s *query) positive(z string) string {
	return fmt.Sprintf("CASE WHEN %s > %s THEN %s ELSE %s END", z, s.literal(0), s.class(1), s.class(0))
}

func (s *query) class(k int) string { return s.quote(s.target.Classes[k]) }

// probabilities adds the steps for a model of several classes and returns the prediction columns. The first columns are
// the probabilities of the classes, e^(z_k - max z) divided by the sum of this number over all classes. The last column
// is the predicted class, the first class with the largest margin. names are the names of the columns.
func (s *query) probabilities(names []string) (items []item) {
	margins := vector.Make(s.margins, func(k int) string { return s.own("z", k) })
	powers := vector.Make(s.margins, func(k int) string { return s.own("p", k) })
	var raised []item
	top := s.identifier(s.prefix + "top")
	s.step("top", append(s.carried("z", s.margins), item{s.greatest + "(" + strings.Join(margins, ", ") + ")", top})...)
	var class strings.Builder
	class.WriteString("CASE")
	for k, z := range margins {
		raised = append(raised, item{s.power(z + " - " + top), powers[k]})
		if k < len(margins)-1 {
			class.WriteString(" WHEN " + z + " = " + top + " THEN " + s.class(k))
		}
	}
	class.WriteString(" ELSE " + s.class(len(margins)-1) + " END")
	chosen := s.identifier(s.prefix + "class")
	s.step("power", append(raised, item{class.String(), chosen})...)
	for k, p := range powers {
		items = append(items, item{p + " / " + total(powers), names[k]})
	}
	return append(items, item{chosen, names[len(names)-1]})
}

// total returns an SQL expression for the sum of terms. The sum is a balanced tree of additions, because
// databases limit the depth of expressions.
func total(terms []string) string {
	if len(terms) == 1 {
		return terms[0]
	}
	half := len(terms) / 2
	return "(" + total(terms[:half]) + " + " + total(terms[half:]) + ")"
}
