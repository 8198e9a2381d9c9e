package optimize

import "fmt"

// NameOf returns the name of value i of a small enumeration. For a value without a name it returns
// field(i).
func NameOf(names []string, field string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", field, i)
}

// ParseName returns the value with the name s. An empty s that is no value's name is value 0. Any other
// unknown name is an error that lists the names.
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
