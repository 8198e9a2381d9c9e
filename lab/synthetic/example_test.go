package synthetic_test

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/lab/synthetic"
	"github.com/stillpoint-dp/stillpoint/loss"
)

// Parse finds a problem by its name. Package loss, which reads the losses of configurations, does not know
// the name.
func ExampleParse() {
	l, err := synthetic.Parse("saddle")
	fmt.Println(l.Name(), l.Constants().Curvature, err)
	_, err = loss.Parse("saddle")
	fmt.Println(err != nil)
	// Output:
	// saddle {-1 0.25} <nil>
	// true
}
