package train

import (
	_ "embed" // comments.txt
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/optimize"
)

// Settings are the settings of an algorithm by their YAML keys. The values stay as the decoder returned them,
// since the command line may name the algorithm later. When the plan is made, they are converted into the
// fields of the algorithm's type. A setting that the algorithm does not have is then an error.
type Settings = map[string]any

// SetField assigns value, as YAML or JSON decoders return it, to the field of the struct into that has this YAML
// key. It returns an error if no field has the key or the value does not have the field's type. In the algorithms'
// types a zero field follows a rule, which nobody who writes a 0 or an empty name asks for. An explicit zero is
// therefore an error, too, except where the field has the tag zeroTag.
func SetField(into reflect.Value, key string, value any) error {
	f, ok := field(into.Type(), key)
	if !ok {
		return fmt.Errorf("train.%s: is no setting", key)
	}
	v := into.FieldByIndex(f.Index)
	if v.Kind() == reflect.Uint8 {
		s, ok := value.(string)
		if !ok {
			return fmt.Errorf("train.%s = %v: must be a name", key, value)
		}
		if s == "" {
			return fmt.Errorf("train.%s = \"\": must be a name; leave it out for the algorithm's rule", key)
		}
		number, err := optimize.Named(key, s, func(i uint8) fmt.Stringer {
			v.SetUint(uint64(i))
			return v.Interface().(fmt.Stringer)
		})
		if v.SetUint(uint64(number)); err != nil {
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
	all := t.shared()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if share := *all[key]; share > 0 && share < leastShare {
			return fmt.Errorf("train.%s = %v: must be a share of the budget of at least %v: a smaller share releases only noise",
				key, share, leastShare)
		}
	}
	return nil
}

// shared returns the shares of the budget that releases beside the algorithm have, by their keys.
func (t *Train) shared() map[string]*float64 {
	return map[string]*float64{"measure": &t.Measure, "compare": &t.Compare, "base": &t.Base, "ranks": &t.Ranks}
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

// Set adds settings, by their YAML keys, to the settings of the configuration. The keys algorithm, measure, compare,
// base and ranks set Train's own fields. Set returns an error for an unknown key and for a value of the wrong type.
func (t *Train) Set(all map[string]any) error {
	shares := t.shared()
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
	if f.Type.Kind() == reflect.Uint8 {
		return nil
	}
	f.Index, f.Name = []int{0}, "Value"
	f.Tag += reflect.StructTag(fmt.Sprintf(" yaml:%q", key)) // a key of its own where the field has the one of an inlined struct
	return SetField(reflect.New(reflect.StructOf([]reflect.StructField{f})).Elem(), key, value)
}

// Setting describes a setting of an algorithm for the command's help.
type Setting struct {
	Key string
	// Type is one of "yes or no", "whole number", "number" and "name".
	Type string
	// Doc says what the setting means, its unit, and what zero or leaving the setting out means.
	Doc string
	// Trial is a value with which tests set the setting, in place of true, 3 or .3: the tag trial of its field.
	Trial string
}

// comments has the doc comments of settings, each on a line after the name of the field (nameOf) and a space. It is
// written by
//
//	go test ./internal/train -run TestHelpIsTheComments -rewrite
//
//go:embed comments.txt
var comments string

// commentOf returns the doc comment of the field with a name, or "".
func commentOf(name string) string {
	_, after, _ := strings.Cut("\n"+comments, "\n"+name+" ")
	line, _, _ := strings.Cut(after, "\n")
	return line
}

// HelpOf returns the descriptions of an algorithm's settings. For the name "selected" it returns the
// descriptions of the settings of the output rule [optimize.Selected]. For an unknown name it returns nil.
func HelpOf(name string) []Setting {
	if name == selected {
		return settingsOf(reflect.TypeFor[optimize.Selected]())
	}
	if of := algorithmNamed(name); of != nil {
		return settingsOf(reflect.TypeOf(of.zero))
	}
	return nil
}

// settingsOf returns the descriptions of all fields of t that have a YAML key. Inlined structs are included.
func settingsOf(t reflect.Type) (list []Setting) {
	for _, f := range fieldsOf(t) {
		doc := commentOf(nameOf(f.owner, f.StructField))
		if _, itself := f.Tag.Lookup(zeroTag); !itself {
			doc = leftOut.Replace(doc)
		}
		list = append(list, Setting{f.key, inWords(f.Type), doc, f.Tag.Get("trial")})
	}
	return list
}

// zeroTag is the key of a struct tag on a setting's field. It says that an explicit zero means itself, and no rule.
const zeroTag = "zero"

// leftOut words the comments of fields for users, who cannot write a zero in place of leaving a setting out.
var leftOut = strings.NewReplacer("Zero means", "The default is", "zero means", "the default is",
	"must be zero", "must be left out", "that is zero", "that is left out", "that are zero", "that are left out",
	"these are zero", "these are left out", "both are zero", "both are left out", "With zero, ", "If it is left out, ")

// nameOf returns the name under which comments.txt has the doc comment of a field: the last
// element of the package's path, the type and the field, separated by dots.
func nameOf(t reflect.Type, f reflect.StructField) string {
	return t.PkgPath()[strings.LastIndex(t.PkgPath(), "/")+1:] + "." + t.Name() + "." + f.Name
}

// inWords returns the type of a setting in the words of Setting.Type, such as "whole number".
func inWords(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Uint8:
		return "name"
	case t.Kind() == reflect.Bool:
		return "yes or no"
	case t.Kind() == reflect.Int:
		return "whole number"
	}
	return "number"
}

// Positive is a number > 0 that a configuration may leave out; the value 0 means that it was left out. A 0 in
// the configuration's text is an error, since its author hardly wants the default.
type Positive float64

// UnmarshalYAML returns an error for 0. It accepts negative numbers; the code that uses the number reports
// them.
func (p *Positive) UnmarshalYAML(read func(any) error) error {
	var x float64
	if err := read(&x); err != nil {
		return err
	}
	if x == 0 {
		return errors.New("is 0: must be > 0, or be left out")
	}
	*p = Positive(x)
	return nil
}

// Memory limits how much of the encoded table is kept in memory. The limit affects the speed of a fit and has
// no effect on its releases.
type Memory struct {
	// Gigabytes is the memory for the encoded table, in units of 10^9 bytes; zero means the whole table. The
	// limit includes 4 bytes for every row. Rows that do not fit are written to a private file
	// (curator.Config), which each pass over the table reads.
	Gigabytes Positive `yaml:"gigabytes"`
	// Folder is the folder of the file with the rows that do not fit, relative to the configuration's
	// folder; empty means the system's folder for temporary files. The file is not encrypted, so its disk
	// must be one on which records may be stored.
	Folder string `yaml:"folder"`
}

func (m Memory) check() error {
	// 9e9 gigabytes are below 2^63 bytes, the limit of an int64.
	if !(m.Gigabytes >= 0 && m.Gigabytes <= 9e9) {
		return fmt.Errorf("memory.gigabytes = %v: must be > 0 and at most 9e9, or be left out for all", m.Gigabytes)
	}
	if m.Folder != "" && m.Gigabytes == 0 {
		return errors.New("memory.folder: is for rows beyond memory.gigabytes, which must be given with it")
	}
	return nil
}

// bytes returns the memory limit in bytes for curator.Config, in which zero means no limit.
func (m Memory) bytes() int64 { return int64(math.Ceil(float64(m.Gigabytes) * 1e9)) }
