package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// Types with a JSON form of their own. The values are their names in schema files.
var special = map[string]string{
	"k8s.io/apimachinery/pkg/api/resource.Quantity":   "quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString": "intstr",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":       "time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":  "microtime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":   "duration",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":    "raw",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":   "fields",
	extensions + ".JSON":                              "json",
	extensions + ".JSONSchemaPropsOrBool":             "schemaOrBool",
	extensions + ".JSONSchemaPropsOrArray":            "schemaOrArray",
	extensions + ".JSONSchemaPropsOrStringArray":      "schemaOrStrings",
}

const extensions = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

var scalars = map[reflect.Kind]string{
	reflect.String:  "string",
	reflect.Bool:    "bool",
	reflect.Int32:   "int32",
	reflect.Int64:   "int64",
	reflect.Float64: "double",
}

// Types that no document mentions, because no path answers with them.
var absent = map[string]bool{
	"io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata":     true,
	"io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadataList": true,
}

// writer walks Go types from the wanted kinds on and writes one file a package.
type writer struct {
	defined definitions
	files   map[string]version // by import path
	blocks  map[string]map[string]string
}

func writeSchemas(openAPI, directory string) {
	w := &writer{
		defined: readDefinitions(openAPI),
		files:   map[string]version{},
		blocks:  map[string]map[string]string{},
	}
	for _, v := range versions {
		w.files[v.pkg] = v
	}
	for _, v := range versions {
		for _, kind := range v.kinds {
			w.visit(reflect.TypeOf(kind), nil)
		}
	}
	for pkg, blocks := range w.blocks {
		v := w.files[pkg]
		names := make([]string, 0, len(blocks))
		for name := range blocks {
			names = append(names, name)
		}
		sort.Strings(names)
		var text strings.Builder
		fmt.Fprintf(&text, "package %s\n", strings.TrimSuffix(openAPIName(pkg, ""), "."))
		for _, name := range names {
			text.WriteString(blocks[name])
		}
		path := filepath.Join(directory, v.group+"."+v.name+".txt")
		check(os.WriteFile(path, []byte(text.String()), 0o644))
	}
}

// visit writes the block of a struct, once, and of every struct it refers to. OpenAPI may have no
// definition of an embedded struct, whose fields then are in that of its owner.
func (w *writer) visit(t reflect.Type, owner *definition) {
	pkg := t.PkgPath()
	if _, ok := w.files[pkg]; !ok {
		fail("%v is of a package without a file", t)
	}
	if w.blocks[pkg] == nil {
		w.blocks[pkg] = map[string]string{}
	}
	if _, done := w.blocks[pkg][t.Name()]; done {
		return
	}
	w.blocks[pkg][t.Name()] = "" // types refer to themselves
	defined := w.defined[openAPIName(pkg, t.Name())]
	if defined == nil && owner != nil {
		defined = &definition{Required: owner.Required, Properties: owner.Properties}
	}
	if defined == nil {
		if !absent[openAPIName(pkg, t.Name())] {
			fail("%v has no definition", t)
		}
		defined = &definition{}
	}
	var text strings.Builder
	word := "struct"
	if _, typed := t.FieldByName("TypeMeta"); typed {
		word = "kind"
	}
	fmt.Fprintf(&text, "\n%s %s", word, t.Name())
	if defined.MapType == "atomic" {
		text.WriteString(" atomic")
	}
	text.WriteString("\n")
	for field := range t.Fields() {
		if line := w.field(t, field, defined); line != "" {
			text.WriteString(line + "\n")
		}
	}
	w.blocks[pkg][t.Name()] = text.String()
}

// field is one line: name, number, type, then what else there is to say.
func (w *writer) field(owner reflect.Type, field reflect.StructField, defined *definition) string {
	tag := strings.Split(field.Tag.Get("json"), ",")
	name, options := tag[0], tag[1:]
	if name == "-" {
		fail("%v.%s is left out of JSON", owner, field.Name)
	}
	if field.Name == "TypeMeta" {
		return "" // that is what makes it a kind
	}
	number := "0"
	if proto := strings.Split(field.Tag.Get("protobuf"), ","); len(proto) > 1 {
		number = proto[1]
	}
	words := []string{name, number}
	if name == "" {
		if !field.Anonymous || field.Type.Kind() != reflect.Struct {
			fail("%v.%s is embedded in a way unknown here", owner, field.Name)
		}
		w.visit(field.Type, defined)
		return strings.Join([]string{"-", number, w.typeName(owner, field.Type), "inline"}, " ")
	}
	words = append(words, w.typeName(owner, field.Type))
	if slices.Contains(defined.Required, name) {
		words = append(words, "required")
	}
	if !omitted(field.Type, options) {
		words = append(words, "keep")
	}
	words = append(words, w.markers(owner, field, defined.Properties[name])...)
	return strings.Join(words, " ")
}

// omitted tells whether JSON leaves out the zero value of a field.
func omitted(t reflect.Type, options []string) bool {
	if slices.Contains(options, "omitzero") {
		return true
	}
	return slices.Contains(options, "omitempty") && t.Kind() != reflect.Struct
}

func (w *writer) markers(owner reflect.Type, field reflect.StructField, p *property) []string {
	var words []string
	strategies, key := field.Tag.Get("patchStrategy"), field.Tag.Get("patchMergeKey")
	if p == nil {
		p = &property{Strategy: strategies, MergeKey: key}
	}
	if strategies != p.Strategy || key != p.MergeKey {
		fail("%v.%s: Go says %q %q, OpenAPI %q %q", owner, field.Name, strategies, key, p.Strategy, p.MergeKey)
	}
	switch {
	case p.ListType == "map":
		words = append(words, "map("+strings.Join(p.ListKeys, ",")+")")
	case p.ListType == "set":
		words = append(words, "set")
	case p.MapType == "atomic":
		words = append(words, "atomic")
	}
	if strategies != "" {
		words = append(words, strings.Split(strategies, ",")...)
	}
	if key != "" {
		words = append(words, "key("+key+")")
	}
	if p.Default != nil {
		var compact any
		check(json.Unmarshal(*p.Default, &compact))
		text, err := json.Marshal(compact)
		check(err)
		if strings.Contains(string(text), " ") {
			fail("%v.%s: a default with a space: %s", owner, field.Name, text)
		}
		words = append(words, "default="+string(text))
	}
	return words
}

func (w *writer) typeName(owner, t reflect.Type) string {
	if name, ok := special[t.PkgPath()+"."+t.Name()]; ok {
		if strings.HasPrefix(name, "schemaOr") {
			w.visit(t.Field(schemaField(t)).Type.Elem(), nil)
		}
		return name
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + w.typeName(owner, t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		if _, message := reflect.PointerTo(t).MethodByName("Marshal"); message {
			return "()" + w.typeName(owner, t.Elem())
		}
		return "[]" + w.typeName(owner, t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			fail("%v has a map by %v", owner, t.Key())
		}
		return "{}" + w.typeName(owner, t.Elem())
	case reflect.Struct:
		w.visit(t, nil)
		if t.PkgPath() == owner.PkgPath() {
			return t.Name()
		}
		v := w.files[t.PkgPath()]
		return v.group + "." + v.name + ":" + t.Name()
	}
	if name, ok := scalars[t.Kind()]; ok {
		return name
	}
	fail("%v refers to a %v", owner, t)
	return ""
}

// schemaField is the member of a union that holds a schema: the unions of JSON schemas are the only
// way from one schema to the next that has a JSON form of its own.
func schemaField(t reflect.Type) int {
	for i := range t.NumField() {
		if t.Field(i).Name == "Schema" {
			return i
		}
	}
	fail("%v has no schema", t)
	return 0
}
