package curator_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/account"
)

// TestInspectionEndsAtTheWall: package reflect reads unexported fields behind every pointer, interface, map
// and slice. Starting from a session, or from any value that it returns, it must not reach a value of a
// package below curator, such as the rows or the random bits.
func TestInspectionEndsAtTheWall(t *testing.T) {
	p := catch(t)
	schedule := must[*account.Schedule](t)(account.NewSchedule(context.Background(), p.Ledger().Budget(), 0,
		account.SampledSteps{NoiseMultiplier: 1e3, Sampling: .5, Count: 1}))
	_, refusal := p.Ask(context.Background(), p.question)
	for name, v := range map[string]any{
		"session": p.Session, "prefix sum": p.prefix, "cohort": p.cohort, "ledger": p.view, "events": p.view.Events(),
		"release": p.release, "refusal": refusal, "schedule": schedule, "question": p.question,
	} {
		seen := make(map[reflect.Value]bool)
		if path := below(reflect.ValueOf(v), name, seen); path != "" {
			t.Errorf("reflect reads what only curator may: %s", path)
		}
		if len(seen) == 0 {
			t.Errorf("%s: nothing was looked at", name)
		}
	}
}

// below returns a path to a value whose type is declared below curator, or "" if there is none.
func below(v reflect.Value, path string, seen map[reflect.Value]bool) string {
	if !v.IsValid() || seen[v] {
		return ""
	}
	seen[v] = true
	// A closure's type may name a type below curator as its result, but nobody outside can call it.
	if strings.Contains(v.Type().PkgPath(), "curator/internal") {
		return path + " (" + v.Type().String() + ")"
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return below(v.Elem(), path+".*", seen)
	case reflect.Struct:
		for i := range v.NumField() {
			if found := below(v.Field(i), path+"."+v.Type().Field(i).Name, seen); found != "" {
				return found
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if found := below(v.Index(i), path+"[]", seen); found != "" {
				return found
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if found := below(it.Value(), path+"[]", seen); found != "" {
				return found
			}
		}
	}
	return ""
}
