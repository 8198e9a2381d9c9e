package train

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Settings are the settings of an algorithm by their YAML keys. The values stay as the decoder returned them,
// since the command line may name the algorithm later. When the plan is made, they are converted into the
// fields of the algorithm's type. A setting that the algorithm does not have is then an error.
type Settings = map[string]any

// set assigns value, as YAML or JSON decoders return it, to the field of the struct into that has this YAML
// key. It returns an error if no field has the key or the value does not have the field's type. In the algorithms'
// types a zero field follows a rule, which nobody who writes a 0 or an empty name asks for. An explicit zero is
// therefore an error, too, except where the field has the tag zeroTag.
func set(into reflect.Value, key string, value any) error {
	f, ok := field(into.Type(), key)
	if !ok {
		return fmt.Errorf("train.%s: is no setting", key)
	}
	v := into.FieldByIndex(f.Index)
	if text, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		s, ok := value.(string)
		if !ok {
			return fmt.Errorf("train.%s = %v: must be a name", key, value)
		}
		if s == "" {
			return fmt.Errorf("train.%s = \"\": must be a name; leave it out for the algorithm's rule", key)
		}
		if err := text.UnmarshalText([]byte(s)); err != nil {
			return fmt.Errorf("train.%s: %w", key, err)
		}
		return nil
	}
	number, isNumber := numeric(value)
	if _, itself := f.Tag.Lookup(zeroTag); isNumber && number == 0 && v.Kind() != reflect.Bool && !itself {
		return fmt.Errorf("train.%s = %v: must not be 0; leave it out for the algorithm's rule", key, value)
	}
	switch v.Kind() {
	case reflect.Int:
		if !isNumber || number != math.Trunc(number) || math.Abs(number) > math.MaxInt32 {
			return fmt.Errorf("train.%s = %v: must be a whole number", key, value)
		}
		v.SetInt(int64(number))
	case reflect.Float64:
		if !isNumber {
			return fmt.Errorf("train.%s = %v: must be a number", key, value)
		}
		v.SetFloat(number)
	case reflect.Bool:
		b, ok := value.(bool)
		if !ok {
			return fmt.Errorf("train.%s = %v: must be true or false", key, value)
		}
		v.SetBool(b)
	default:
		return fmt.Errorf("train.%s: is a %v, which is no setting", key, v.Type())
	}
	return nil
}

// numeric converts a number of any type that YAML or JSON decoders return, or a number written as text. Its
// second result is false for other values.
func numeric(value any) (float64, bool) {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return float64(v.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return float64(v.Uint()), true
	case reflect.Float32, reflect.Float64:
		return v.Float(), true
	case reflect.String: // the YAML decoder reads 1e-9, which has no decimal point, as text
		if strings.Trim(v.String(), "0123456789+-eE") == "" {
			x, err := strconv.ParseFloat(v.String(), 64)
			return x, err == nil
		}
	}
	return 0, false
}

// leastShare is the least share of the budget that one release may have. A release with less is noise alone, and far
// below it a session finds no grid for the answer and refuses the query, when the whole budget is charged already.
const leastShare = 1e-12

// shares returns an error if a share of the budget is above 0 and below leastShare.
func (t Train) shares() error {
	for _, s := range []struct {
		key   string
		share float64
	}{{"measure", t.Measure}, {"compare", t.Compare}, {"ranks", t.Ranks}, {"base", t.Base}} {
		if s.share > 0 && s.share < leastShare {
			return fmt.Errorf("train.%s = %v: must be a share of the budget of at least %v: less buys nothing but noise",
				s.key, s.share, leastShare)
		}
	}
	return nil
}

// UnmarshalYAML reads the section train of a configuration. Each key must be a setting of some
// algorithm, and its value must have the setting's type.
func (t *Train) UnmarshalYAML(unmarshal func(any) error) error {
	var all map[string]any
	if err := unmarshal(&all); err != nil {
		return err
	}
	return t.Set(all)
}

// Set adds settings, by their YAML keys, to the settings of the configuration. The keys algorithm, measure,
// compare, base and ranks set Train's own fields. Set returns an error for an unknown key and for a value of the wrong
// type.
func (t *Train) Set(all map[string]any) error {
	shares := map[string]*float64{"measure": &t.Measure, "compare": &t.Compare, "base": &t.Base, "ranks": &t.Ranks}
	for key, value := range all {
		if key == "algorithm" {
			name, ok := value.(string)
			if !ok {
				return fmt.Errorf("train.algorithm = %v: must be one of %v", value, Algorithms())
			}
			t.Algorithm = name
			continue
		}
		if into := shares[key]; into != nil {
			share, ok := numeric(value)
			switch {
			case key == "measure" && !ok:
				return fmt.Errorf("train.measure = %v: must be a number", value)
			case key == "measure":
			case value == "off" || value == false:
				share = Off
			case !ok || !(share > 0 && share < 1):
				return fmt.Errorf("train.%s = %v: must be off or a share of the budget, > 0 and < 1", key, value)
			}
			*into = share
			continue
		}
		f, ok := known(key)
		if !ok {
			return fmt.Errorf("unknown field %q in train: is a setting of no algorithm", key)
		}
		if err := tried(f, key, value); err != nil {
			return err
		}
		if t.Settings == nil {
			t.Settings = Settings{}
		}
		t.Settings[key] = value
	}
	return nil
}

// tried returns an error if the setting in the field f cannot have the value. Settings that are names are
// accepted here and checked when the algorithm is known.
func tried(f reflect.StructField, key string, value any) error {
	if _, ok := reflect.New(f.Type).Interface().(encoding.TextUnmarshaler); ok {
		return nil
	}
	f.Index, f.Name = []int{0}, "Value"
	f.Tag += reflect.StructTag(fmt.Sprintf(" yaml:%q", key)) // a key of its own where the field has the one of an inlined struct
	return set(reflect.New(reflect.StructOf([]reflect.StructField{f})).Elem(), key, value)
}
