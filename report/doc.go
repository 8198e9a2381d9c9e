// Package report makes a page from the released results of a run: one HTML file with tables and inline SVG
// plots. The page loads nothing from elsewhere.
//
// [ReadFit] makes the page of a fit's folder from its certificate, model and ledger. These files are
// released already, and the page does not open the table, so a page costs no privacy. [Study] makes the
// page of an experiment from plain numbers. Both return a [Page]. Programs can also build a Page
// themselves.
//
// # Promises
//
//   - A page is well-formed XML as well as HTML, has no script, and refers to no other file. It can be read
//     offline, archived, and printed in black and white.
//   - Names of columns, categories and settings come from files and are treated as hostile. All text is
//     escaped. Characters that control a terminal or the direction of text are replaced.
//   - The same input gives the same bytes.
//   - [Page.Render] returns an error, which names the number, for a number that is not finite, or not
//     positive on a logarithmic axis. Long series are thinned; their extremes stay.
package report
