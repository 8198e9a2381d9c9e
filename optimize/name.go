package optimize

import "fmt"

// NameOf is the name of the i-th value of a small enumeration.
func NameOf(names []string, field string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", field, i)
}

// ParseName returns the number of a name; the empty one, if no value has it, is
// the first.
func ParseName(names []string, field, s string) (int, error) {
	var list []string
	for i, name := range names {
		if name == s {
			return i, nil
		}
		if name != "" {
			list = append(list, name)
		}
	}
	if s == "" {
		return 0, nil
	}
	return 0, fmt.Errorf("optimize: %s = %q: must be one of %v", field, s, list)
}
