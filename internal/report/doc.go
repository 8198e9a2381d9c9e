// Package report makes a page from the released results of a run: one HTML file with tables and inline SVG
// plots. The page loads nothing from elsewhere.
//
// [ReadFit] reads the certificate, the model and the ledger of a fit's folder, and [Fit.Page] makes a [Page] from them.
// These files are released already, and the table is not opened, so the page costs no privacy. Programs can also build a
// Page themselves.
//
// # Promises
//
//   - A page is well-formed XML as well as HTML, has no script, and refers to no other file. It can be read
//     offline, archived, and printed in black and white.
//   - Names of columns, categories and settings come from files and are treated as hostile. All text is
//     escaped. Characters that control a terminal or the direction of text are replaced.
//   - The same input gives the same bytes.
//   - If a plotted number is not finite, or not positive on a logarithmic axis, [Page.Render] returns an
//     error that names the number.
//   - Of a series with more than 600 points only some points are drawn, among them its extremes.
package report
