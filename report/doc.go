// Package report turns what a run released into a page: one HTML file with
// tables and inline SVG plots, and nothing that is loaded from elsewhere.
//
// [ReadFit] makes the page of a fit's folder from its certificate, model and
// ledger. All of them are released already, and the table is never opened, so a
// page costs no privacy. [Study] makes the page of an experiment from plain
// numbers. Both return a [Page], which anybody can also put together by hand.
//
// # Promises
//
//   - A page is well-formed XML as well as HTML, has no script, and refers to no
//     other file: it can be read offline, archived, and printed in black and white.
//   - Names of columns, categories and settings come from files and are taken for
//     hostile: all text is escaped, and characters that control a terminal or the
//     direction of text are replaced.
//   - The same input gives the same bytes.
//   - No number is drawn that is not finite, or not positive on a logarithmic axis:
//     [Page.Render] refuses it by name. Long series are thinned, extremes kept.
package report
