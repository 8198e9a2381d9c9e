package contrast_test

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/model/contrast"
)

func Example() {
	for _, i := range []contrast.Interval{
		{State: contrast.Reported, Estimate: .4, Low: .1, High: .7},
		{State: contrast.Withheld, Remainder: .3},
	} {
		fmt.Println(i.State, i.Contains(0), i.Contains(.5))
	}
	// Output:
	// reported false true
	// withheld false false
}
