package describe

// Name is the name of descriptions in ledgers and certificates, where a fit has its algorithm.
const Name = "describe"

// Value is a released number with the ends of its confidence interval.
type Value struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// Description is what was released of a table.
type Description struct {
	// Level is the confidence level of the intervals, which are of the table's own values.
	Level float64 `json:"level"`
	// Rows is the number of rows.
	Rows Value `json:"rows"`
	// By names the category by whose values the columns are described, too.
	By      string   `json:"by,omitempty"`
	Columns []Column `json:"columns"`
}

// Column describes a column. Numbers of a date are days since 1970-01-01.
type Column struct {
	Name string `json:"name"`
	// Kind is number, date or category.
	Kind string `json:"kind"`
	// Missing is the share of missing and unreadable cells of a number or a date.
	Missing *Value `json:"missing,omitempty"`
	// Within is the range to whose ends numbers were clamped for Mean and Spread, the standard deviation. Mean,
	// Spread and Bounds are nil if no number but 0 was found above the noise.
	Within []float64 `json:"within,omitempty"`
	// Beyond is the share of rows whose numbers are far outside of Within: where the first release found none above the
	// noise. It is nil if Within was chosen from all public bounds.
	Beyond *Value `json:"beyond,omitempty"`
	Mean   *Value `json:"mean,omitempty"`
	Spread *Value `json:"standard_deviation,omitempty"`
	// Quantiles are the column's quantiles.
	Quantiles []Quantile `json:"quantiles,omitempty"`
	// Bounds are bounds of the column for a fit: the outer ends of the intervals of two quantiles near the ends (0.5%
	// and 99.5%, and nearer to the middle where the noise hides so few rows), a tenth of their distance further apart
	// and rounded outwards.
	Bounds []float64 `json:"bounds,omitempty"`
	// Levels are the values of a category. The last of them is other, which stands for missing cells and for values
	// that are not listed.
	Levels []Level `json:"levels,omitempty"`
}

// Quantile is the number below which a share of the column's numbers are.
type Quantile struct {
	Share float64 `json:"share"`
	Value
}

// Level is a value of a category.
type Level struct {
	Name  string `json:"name"`
	Share Value  `json:"share"`
	Count Value  `json:"count"`
	// Columns are the other columns in the rows with this value of the category By: means of numbers and shares of
	// values. It is nil for other categories, and where the rows are too few for the noise.
	Columns []Column `json:"columns,omitempty"`
}
