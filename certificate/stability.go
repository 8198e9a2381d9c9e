package certificate

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/stillpoint-dp/stillpoint/account"
)

// stabilityAssumption returns, in words, the assumption about the named loss on which releases with the
// basis account.Stability depend. A certificate with such a release must list this text as trusted.
func stabilityAssumption(loss string) string {
	return fmt.Sprintf("the loss %s is convex and as smooth as it declares (basis %q)", loss, account.Stability)
}

// stable counts the events with the basis "stability" (gradient steps that do not move two points
// further apart).
func (d *document) stable() int {
	n := 0
	for _, e := range d.Events {
		if e.Basis == account.Stability {
			n++
		}
	}
	return n
}

// untold returns the assumptions about losses that events with the basis "stability" need and that the list
// Trusted does not contain.
func (d *document) untold() []string {
	var list []string
	for _, e := range d.Events {
		if e.Basis != account.Stability {
			continue
		}
		if a := stabilityAssumption(e.Loss); !slices.Contains(d.Trusted, a) && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// checkStability tests releases whose basis is stability (gradient steps that do not move two points
// further apart). It returns an error if the assumption about a loss is not listed as trusted, or if the
// claim's relation is not replace-one. Under add-or-remove, an added record would shift the order of the
// other records.
func (d *document) checkStability() error {
	if n := d.stable(); n > 0 && d.Claim.Relation != account.ReplaceOne {
		return unsound("claim.relation", d.Claim.Relation, "must be replace-one for releases with basis %q",
			account.Stability)
	}
	if list := d.untold(); len(list) > 0 {
		return unsound("trusted", len(d.Trusted), "must contain %s", strconv.Quote(list[0]))
	}
	return nil
}
