package optimize

import "fmt"

// NameOf returns names[i], the name of value i of an enumeration. For a value without a name it
// returns the field's name with the number, as in "output(7)".
func NameOf(names []string, field string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", field, i)
}

// ParseName returns the index of s in names. If s is empty and is not in names, it returns 0. For any other
// unknown name it returns an error that states field, the name of the setting, and lists the names.
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

// SetName sets a setting to the value whose name is text, as ParseName finds it.
func SetName[T ~uint8](setting *T, names []string, field string, text []byte) error {
	i, err := ParseName(names, field, string(text))
	*setting = T(i)
	return err
}
