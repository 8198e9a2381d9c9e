// Command size prints how many lines of Go the module has, by part and by package of the product. Run it in the
// module's root.
package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/stillpoint-dp/stillpoint/internal/repotest/face"
	"github.com/stillpoint-dp/stillpoint/internal/repotest/size"
)

func main() {
	counts, err := size.Load(".", face.Module, append([]string{"cmd/stillpoint"}, face.Promised...))
	if err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, l size.Lines) {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t  %s\n", l.All(), l.Code, l.Comment, l.Blank, name)
	}
	fmt.Fprintln(w, "lines\tcode\tcomments\tblank\t  part, then packages of the product and of its support")
	for _, part := range size.Parts {
		row(string(part), size.Total(counts, part))
	}
	for _, part := range []size.Part{size.Product, size.Support} {
		for _, c := range counts {
			if c.Part == part {
				row(string(part)+" "+c.Folder, c.Lines)
			}
		}
	}
	w.Flush()
}
