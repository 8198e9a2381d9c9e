package query_test

import (
	"github.com/stillpoint-dp/stillpoint/internal/querytest"
	"github.com/stillpoint-dp/stillpoint/query"
)

func init() {
	query.FormsOf = func(k query.Kind, c query.Cohort, w, prev []float64, lo, hi float64, features int) (list []query.Named) {
		bounds := querytest.Bounds{Lipschitz: 1.1, InitialGap: .7, Lo: lo, Hi: hi, Features: features}
		for _, f := range querytest.Forms(k) {
			list = append(list, query.Named{Name: f.Name, Terms: f.Ask(c, w, prev, bounds)})
		}
		return list
	}
}
