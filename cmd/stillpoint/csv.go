package main

import "github.com/stillpoint-dp/stillpoint/dataset"

// csvFlags are the flags for the format of a text table, for commands without a configuration.
type csvFlags struct {
	Delimiter string   `help:"Separator of the table's fields: a character, or tab." placeholder:"C" group:"Tables that are text"`
	Decimal   string   `help:"The decimal mark of its numbers." placeholder:"C" group:"Tables that are text"`
	Thousands string   `help:"Separator of thousands in its numbers." placeholder:"C" group:"Tables that are text"`
	Encoding  string   `help:"utf-8, utf-16, utf-16le, utf-16be, latin-1 or windows-1252." placeholder:"NAME" group:"Tables that are text"`
	Quote     string   `help:"Quotation mark around its fields: a character, or none." placeholder:"C" group:"Tables that are text"`
	Names     []string `help:"Names of its columns, if it has no header row." placeholder:"NAME" name:"names" group:"Tables that are text"`
}

func (f csvFlags) csv() dataset.CSV {
	return dataset.CSV{Delimiter: f.Delimiter, Decimal: f.Decimal, Thousands: f.Thousands, Encoding: f.Encoding,
		Quote: f.Quote, Header: f.Names}
}
