package report

import (
	"errors"
	"fmt"
	"html/template"
	"math"
)

// Heat is a small table of numbers with coloured cells. Numbers above 0 have one colour and numbers below 0
// another colour. The colour is stronger for a larger absolute value.
type Heat struct {
	Title   string `json:"title"`
	Caption string `json:"caption"`
	// X names what the columns of the table stand for, and Y what its rows stand for.
	X       string       `json:"x"`
	Y       string       `json:"y"`
	Columns []string     `json:"columns"`
	Rows    []string     `json:"rows"`
	Cells   [][]HeatCell `json:"cells"`
}

// HeatCell is a cell of a Heat. A faint cell is drawn without colour. A thin cell is also drawn without
// colour, and has a dash instead of its text.
type HeatCell struct {
	Value float64 `json:"value"`
	Text  string  `json:"text"`
	Faint bool    `json:"faint,omitempty"`
	Thin  bool    `json:"thin,omitempty"`
}

// mostHeat is the largest number of rows of a Heat, and also of columns.
const mostHeat = 60

func (h Heat) check() error {
	switch {
	case h.Title == "" || h.X == "" || h.Y == "":
		return errors.New("heat: title, x and y must be given")
	case len(h.Rows) == 0 || len(h.Columns) == 0 || len(h.Rows) > mostHeat || len(h.Columns) > mostHeat:
		return fmt.Errorf("heat %q: %d rows, %d columns: must be between 1 and %d", h.Title, len(h.Rows), len(h.Columns),
			mostHeat)
	case len(h.Cells) != len(h.Rows):
		return fmt.Errorf("heat %q: %d rows of cells: must be %d", h.Title, len(h.Cells), len(h.Rows))
	}
	for _, row := range h.Cells {
		if len(row) != len(h.Columns) {
			return fmt.Errorf("heat %q: %d cells: must be %d", h.Title, len(row), len(h.Columns))
		}
		for _, c := range row {
			if !drawable(c.Value, false) {
				return fmt.Errorf("heat %q: %v: must be finite and below 1e200", h.Title, c.Value)
			}
		}
	}
	return nil
}

func (h Heat) html(id string) (template.HTML, error) {
	return execute("plot", struct {
		ID, Title, Caption string
		SVG                template.HTML
	}{id, h.Title, h.Caption, h.draw(id)})
}

// Sizes of a cell of a Heat in units of the picture: its height, and its largest width.
const cellHeight, mostCell = 24.0, 90.0

func (h Heat) draw(id string) template.HTML {
	left := 0.
	for _, name := range h.Rows {
		left = max(left, min(wide(name), mostName)*labelSize)
	}
	left += 34
	width := min((plotWidth-left-10)/float64(len(h.Columns)), mostCell)
	bottom := 6 + cellHeight*float64(len(h.Rows))
	most := 0.
	for _, row := range h.Cells {
		for _, c := range row {
			most = max(most, math.Abs(c.Value))
		}
	}
	s := newSVG(id, plotWidth, bottom+44, h.Title, h.description())
	for i, row := range h.Cells {
		y := 6 + cellHeight*float64(i)
		s.text(left-8, y+cellHeight/2+4, finish, "soft", shorten(oneLine(h.Rows[i]), mostName), "")
		for j, c := range row {
			s.cell(c, left+width*float64(j), y, width, most, h.Rows[i]+", "+h.Columns[j])
		}
	}
	for j, name := range h.Columns {
		s.text(left+width*(float64(j)+.5), bottom+16, middle, "soft", shorten(oneLine(name), width/labelSize*1.6), "")
	}
	s.text(left+width*float64(len(h.Columns))/2, bottom+36, middle, "ink", shorten(h.X, (plotWidth-left)/labelSize), "")
	s.text(13, 6+(bottom-6)/2, middle, "ink", shorten(h.Y, bottom/labelSize),
		` transform="rotate(-90 13 `+num(6+(bottom-6)/2)+`)"`)
	return s.end()
}

// cell draws a cell of a Heat with its upper left corner at (x, y). most is the largest absolute value of
// the Heat, which has the strongest colour.
func (s *svg) cell(c HeatCell, x, y, width, most float64, name string) {
	s.open("g", `font-size="%s"`, num(labelSize-1))
	s.title(name + ": " + c.Text)
	colour := 0
	if c.Value < 0 {
		colour = 1
	}
	style := `fill="none"`
	if !c.Faint && !c.Thin && most > 0 {
		style = fillStyle(colour) + ` class="fill` + index(colour) + `" fill-opacity="` + num(.1+.55*math.Abs(c.Value)/most) +
			`"`
	}
	s.rect(x+1, y+1, width-2, cellHeight-2, style)
	s.rect(x+1, y+1, width-2, cellHeight-2, `fill="none" class="grid" stroke="`+grid+`"`)
	text, class := c.Text, "ink"
	if c.Thin {
		text, class = "–", "soft"
	}
	s.text(x+width/2, y+cellHeight/2+4, middle, class, text, "")
	s.close()
}

func (h Heat) description() string {
	t := h.Y + " by " + h.X + ":"
	for i, row := range h.Cells {
		for j, c := range row {
			t += " " + h.Rows[i] + ", " + h.Columns[j] + " " + c.Text + ";"
		}
	}
	return t + " " + h.Caption
}
