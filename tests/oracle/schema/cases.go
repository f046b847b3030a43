package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// message is what every generated type is.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// One case: an object as it travels, and the JSON that Go makes of what arrives.
type object struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Protobuf   []byte          `json:"protobuf"`
	JSON       json.RawMessage `json:"json"`
}

// How full an object is: one that is empty, one that has everything once, and random ones.
type density struct {
	nil      float64
	min, max int
}

var densities = []density{{1, 0, 0}, {0, 1, 1}, {0.3, 0, 2}, {0.7, 0, 2}, {0.9, 0, 3}}

// writeCases writes one object a line, of every kind and density.
func writeCases(seed int64) {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for _, v := range versions {
		for _, zero := range v.kinds {
			t := reflect.TypeOf(zero)
			if _, typed := t.FieldByName("TypeMeta"); !typed {
				continue
			}
			for _, d := range densities {
				seed++
				check(lines.Encode(makeCase(v, t, d, seed)))
			}
		}
	}
}

func makeCase(v version, t reflect.Type, d density, seed int64) object {
	apiVersion := v.group + "/" + v.name
	if v.group == "core" || v.group == "meta" {
		apiVersion = v.name
	}
	filled := reflect.New(t)
	if d.nil < 1 {
		newFiller(d, seed).Fill(filled.Interface())
	}
	raw, err := filled.Interface().(message).Marshal()
	check(err)
	arrived := reflect.New(t)
	check(arrived.Interface().(message).Unmarshal(raw))
	typed := metav1.TypeMeta{APIVersion: apiVersion, Kind: t.Name()}
	arrived.Elem().FieldByName("TypeMeta").Set(reflect.ValueOf(typed))
	text, err := json.Marshal(arrived.Interface())
	check(err)
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: t.Name()}, Raw: raw}
	envelope, err := unknown.Marshal()
	check(err)
	return object{apiVersion, t.Name(), append([]byte("k8s\x00"), envelope...), text}
}

// newFiller fills types of random content with what is valid for them, at most so many schemas deep.
func newFiller(d density, seed int64) *randfill.Filler {
	depth := 0
	return randfill.NewWithSeed(seed).NilChance(d.nil).NumElements(d.min, d.max).MaxDepth(40).Funcs(
		func(s *string, c randfill.Continue) {
			*s = pick(c.Rand, d, "", "a", "name-1", "example.com/gpu", "Grüße ✓ 🙂", "\"\\\n\x00<>&")
		},
		func(i *int32, c randfill.Continue) { *i = int32(number(c.Rand, d)) },
		func(i *int64, c randfill.Continue) { *i = number(c.Rand, d) },
		func(f *float64, c randfill.Continue) { *f = pick(c.Rand, d, 0.0, 1, -2.5, 1e300, 0.1) },
		func(q *resource.Quantity, c randfill.Continue) {
			*q = resource.MustParse(pick(c.Rand, d, "0", "1", "1500m", "2Gi", "-3", "1e3", "100n"))
		},
		func(t *metav1.Time, c randfill.Continue) {
			seconds := pick[int64](c.Rand, d, -62135596800, 0, 1, 1767225600, 253402300799, -1)
			*t = metav1.Time{}
			if seconds != -62135596800 {
				t.Time = time.Unix(seconds, 0).UTC()
			}
		},
		func(t *metav1.MicroTime, c randfill.Continue) {
			*t = metav1.MicroTime{}
			if seconds := pick[int64](c.Rand, d, -62135596800, 0, 1767225600, -1); seconds != -62135596800 {
				t.Time = time.Unix(seconds, pick[int64](c.Rand, d, 0, 1000, 999999999, 5)).UTC()
			}
		},
		func(i *intstr.IntOrString, c randfill.Continue) {
			*i = pick(c.Rand, d, intstr.FromInt32(0), intstr.FromInt32(-7), intstr.FromString("25%"), intstr.FromString(""))
		},
		func(r *runtime.RawExtension, c randfill.Continue) { r.Raw = rawJSON(c.Rand, d) },
		func(f *metav1.FieldsV1, c randfill.Continue) {
			*f = metav1.FieldsV1{Raw: pick(c.Rand, d, nil, []byte(`{"f:data":{".":{},"f:k":{}}}`))}
		},
		func(j *apiextensionsv1.JSON, c randfill.Continue) { j.Raw = rawJSON(c.Rand, d) },
		func(s *apiextensionsv1.JSONSchemaProps, c randfill.Continue) {
			// Schemas hold schemas in a dozen fields: deeper ones have little else.
			depth++
			defer func() { depth-- }()
			if depth <= 2 {
				c.FillNoCustom(s)
			} else {
				s.Type = "object"
				c.Fill(&s.Maximum)
				c.Fill(&s.Enum)
			}
		},
	)
}

// pick is a random one of the values, never the first if everything is to be filled.
func pick[T any](r *rand.Rand, d density, values ...T) T {
	if d.nil == 0 {
		return values[1+r.Intn(len(values)-1)]
	}
	return values[r.Intn(len(values))]
}

func number(r *rand.Rand, d density) int64 {
	return pick[int64](r, d, 0, 1, -1, 127, 128, 1<<31-1, -1<<31, 1<<63-1, -1<<63)
}

func rawJSON(r *rand.Rand, d density) []byte {
	return pick(r, d, nil, []byte(`{"kind":"Config","n":[1,2.5,null,true],"s":"ü"}`), []byte(`"text"`), []byte(fmt.Sprint(r.Int31())))
}
