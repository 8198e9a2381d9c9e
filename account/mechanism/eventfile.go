package mechanism

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/stillpoint-dp/stillpoint/internal/strictjson"
)

// EventFile is a relation and the mechanisms to be composed under it.
type EventFile struct {
	Relation Relation
	Events   []Composed
}

// maxFileEvents is the largest number of events of a file, including events inside other events.
// maxRepeatedEvents is the largest number of events inside repeat-and-select events. It is smaller
// because the divergences of these events are tabulated while the file is read.
const maxFileEvents, maxRepeatedEvents = 1 << 17, 64

// DecodeEventFile reads an event file:
//
//	{"relation": "add-or-remove",
//	 "events": [{"kind": "sampled-gaussian", "noise_multiplier": 1.5, "sampling": 0.04, "count": 2250},
//	            {"kind": "gaussian", "noise_multiplier": 20, "count": 1}]}
//
// Every event has a kind and a count (>= 1). A kind has exactly these further
// fields. A field is required unless a default stands beside it:
//
//	gaussian             noise_multiplier: sigma over the sensitivity under the relation
//	sampled-gaussian     noise_multiplier: sigma over one record's largest norm; sampling
//	fixed-size-gaussian  noise_multiplier: as for sampled-gaussian; records, batch;
//	                     replace-one only
//	gaussian-mixture     noise_multiplier, weights, offsets; add-or-remove only
//	discrete-gaussian    sigma; sensitivity, a whole number
//	tree                 noise_multiplier: sigma over one record's largest norm; items;
//	                     participations (default 1), separation (default 1)
//	toeplitz             the fields of tree, and bands (default: items)
//	laplace              scale, over the l1 sensitivity
//	randomized-response  p, the probability that the released bit is inverted
//	pure                 epsilon
//	selection            epsilon, the range: as in the exponential mechanism's weights
//	                     exp(epsilon score/(2 sensitivity))
//	bounded-range        epsilon: the same mechanism as selection
//	repeat-and-select    repetitions: "poisson", "geometric", "logarithmic" or
//	                     "negative-binomial"; mean; shape, for negative-binomial alone;
//	                     events: one run, in the format of the events of the file
//
// For instance, one line a kind:
//
//	{"kind": "gaussian", "noise_multiplier": 20, "count": 1}
//	{"kind": "sampled-gaussian", "noise_multiplier": 1.5, "sampling": 0.04, "count": 2250}
//	{"kind": "fixed-size-gaussian", "noise_multiplier": 3, "records": 50000, "batch": 500, "count": 100}
//	{"kind": "gaussian-mixture", "noise_multiplier": 9, "weights": [0.5, 0.5], "offsets": [0, 1], "count": 1}
//	{"kind": "discrete-gaussian", "sigma": 40, "sensitivity": 2, "count": 10}
//	{"kind": "tree", "noise_multiplier": 12, "items": 1024, "participations": 4, "separation": 256, "count": 1}
//	{"kind": "toeplitz", "noise_multiplier": 8, "items": 1024, "bands": 256, "count": 1}
//	{"kind": "laplace", "scale": 50, "count": 2}
//	{"kind": "randomized-response", "p": 0.49, "count": 1}
//	{"kind": "pure", "epsilon": 0.01, "count": 1}
//	{"kind": "selection", "epsilon": 0.02, "count": 1}
//	{"kind": "repeat-and-select", "repetitions": "geometric", "mean": 20, "count": 1,
//	 "events": [{"kind": "sampled-gaussian", "noise_multiplier": 2, "sampling": 0.01, "count": 1000}]}
//
// Trees that are restarted are one event with the items of one tree; its count
// is the largest number of trees that one record is in.
//
// Anything else is an error: unknown, repeated, missing or misspelt fields,
// null, and text after the end.
func DecodeEventFile(data []byte) (EventFile, error) {
	p, err := decodeEventFile(data)
	if err != nil {
		return EventFile{}, fmt.Errorf("account: %w", err)
	}
	return p, nil
}

func decodeEventFile(data []byte) (p EventFile, err error) {
	if fault := (strictjson.Checker{}).Check(data); fault != nil {
		return p, fault
	}
	f := &planFields{Object: strictjson.NewObject("", data, &err)}
	f.read("relation", &p.Relation)
	events := f.events()
	if f.Only(f.names); err != nil {
		return p, err
	}
	d := planDecoder{relation: p.Relation}
	p.Events, err = d.list(events, "events")
	return p, err
}

// planDecoder counts the events of a file, including the events inside repeat-and-select events,
// while the file is decoded. It does so to enforce maxFileEvents and maxRepeatedEvents.
type planDecoder struct {
	relation       Relation
	seen, repeats  int
	insideRepeated bool
}

// list decodes a list of events, which is at path in the file.
func (d *planDecoder) list(raw []json.RawMessage, path string) ([]Composed, error) {
	if d.seen += len(raw); d.seen > maxFileEvents {
		return nil, fmt.Errorf("%d events: must be at most %d", d.seen, maxFileEvents)
	}
	if d.insideRepeated {
		if d.repeats += len(raw); d.repeats > maxRepeatedEvents {
			return nil, fmt.Errorf("%d repeated events: must be at most %d", d.repeats, maxRepeatedEvents)
		}
	}
	var out []Composed
	for i, r := range raw {
		e, err := d.event(r, strictjson.Item(path, i))
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (d *planDecoder) event(data []byte, path string) (out Composed, err error) {
	f := &planFields{Object: strictjson.NewObject(path, data, &err), path: path, err: &err}
	var kind EventKind
	f.read("kind", &kind)
	f.read("count", &out.Count)
	if out.Count < 1 || out.Count > countLimit {
		f.Fail("count", strconv.Itoa(out.Count), "must be within [1, 2^30]")
	}
	out.Mechanism = d.mechanism(kind, f)
	return out, err
}

// mechanism reads the fields that an event of the given kind has, and returns the event's
// mechanism. It returns nil after an error.
func (d *planDecoder) mechanism(kind EventKind, f *planFields) Mechanism {
	switch kind {
	case Gaussian:
		return f.build(NewGaussian(f.number("noise_multiplier")))
	case SampledGaussian:
		return f.build(NewSampledGaussian(f.number("noise_multiplier"), f.number("sampling"), d.relation))
	case kindFixedSizeGaussian:
		f.demand(kind, d.relation, ReplaceOne)
		return f.build(NewFixedSizeGaussian(f.number("noise_multiplier"), f.whole("records"), f.whole("batch")))
	case kindGaussianMixture:
		z := f.number("noise_multiplier")
		var weights, offsets []float64
		f.read("weights", &weights)
		f.read("offsets", &offsets)
		f.demand(kind, d.relation, AddOrRemove)
		return f.build(newGaussianMixture(z, weights, offsets))
	case kindDiscreteGaussian:
		return f.build(newDiscreteGaussian(f.number("sigma"), f.whole("sensitivity")))
	case kindTree, kindToeplitz:
		z := f.number("noise_multiplier")
		s := PrefixSums{Items: f.whole("items"), Participations: f.wholeOr("participations", 1),
			Separation: f.wholeOr("separation", 1)}
		if kind == kindTree {
			return f.build(newTree(z, s, d.relation))
		}
		s.Bands = f.wholeOr("bands", s.Items)
		return f.build(newToeplitz(z, s, d.relation))
	case kindLaplace:
		return f.build(newLaplace(f.number("scale")))
	case kindRandomizedResponse:
		return f.build(newRandomizedResponse(f.number("p")))
	case kindPure:
		return f.build(newPure(f.number("epsilon")))
	case kindBoundedRange, Selection:
		return f.build(newBoundedRange(f.number("epsilon")))
	case kindRepeatAndSelect:
		return d.repeated(f)
	}
	f.Fail("kind", strconv.Quote(string(kind)), "is not a kind")
	return nil
}

func (d *planDecoder) repeated(f *planFields) Mechanism {
	var name string
	f.read("repetitions", &name)
	times := Repetitions{Mean: f.number("mean")}
	switch name {
	case "poisson":
		times.Poisson = true
	case "geometric":
		times.Shape = 1
	case "logarithmic":
	case "negative-binomial":
		times.Shape = f.number("shape")
	default:
		f.Fail("repetitions", strconv.Quote(name), "must be poisson, geometric, logarithmic or negative-binomial")
	}
	raw := f.events()
	if d.insideRepeated {
		f.Fail("kind", string(kindRepeatAndSelect), "must not be among the events of another")
	}
	if f.Err() != nil {
		return nil
	}
	d.insideRepeated = true
	events, err := d.list(raw, strictjson.Join(f.path, "events"))
	d.insideRepeated = false
	if err != nil {
		*f.err = err
		return nil
	}
	return f.build(newRepeatAndSelect(context.Background(), times, events))
}

// planFields reads the fields of the JSON object at path in the file, and records the names of the fields that it
// reads. The first error is stored in *err. After an error it reads no more values.
type planFields struct {
	strictjson.Object
	path  string
	names []string
	err   *error
}

func (f *planFields) read(name string, to any) {
	f.names = append(f.names, name)
	f.Read(name, to)
}

func (f *planFields) number(name string) (v float64) {
	f.read(name, &v)
	return v
}

func (f *planFields) whole(name string) (v int) {
	f.read(name, &v)
	return v
}

func (f *planFields) wholeOr(name string, otherwise int) int {
	if f.Has(name) {
		return f.whole(name)
	}
	return otherwise
}

func (f *planFields) events() (raw []json.RawMessage) {
	f.read("events", &raw)
	return raw
}

func (f *planFields) demand(kind EventKind, is, must Relation) {
	if is != must {
		f.Fail("kind", string(kind), "needs the relation "+must.String())
	}
}

// build returns m, the mechanism that was made from the fields read. It returns nil if there was an error before, if the
// object has fields that were not read, or if m could not be made (err).
func (f *planFields) build(m Mechanism, err error) Mechanism {
	f.Only(f.names)
	if err != nil {
		f.Fail("", "", strings.TrimPrefix(err.Error(), "account: "))
	}
	if f.Err() != nil {
		return nil
	}
	return m
}
