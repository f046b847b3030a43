package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/blang/semver/v4"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// How values are written as JSON: an object whose only member is the kind.
//
//	{"null": null} {"bool": true} {"int": -1} {"uint": 1} {"double": "1.5"}
//	{"string": "x"} {"bytes": "BASE64"} {"duration": NANOSECONDS}
//	{"timestamp": [SECONDS, NANOSECONDS]} {"type": "int"} {"list": [V, …]}
//	{"map": [[KEY, V], …]} in the order of the keys' JSON
//	{"optional": [V]}, of nothing {"optional": []}
//	{"kubernetes.Quantity": "1Gi"} and likewise whatever CEL itself does not know
//
// A double is text because JSON has neither NaN nor infinity; its digits are
// the fewest that mean the same number. A string that is no text is {"raw": "BASE64"}.

type tagged map[string]any

func isError(v ref.Val) bool {
	return types.IsUnknownOrError(v)
}

func encodeValue(v ref.Val) any {
	switch value := v.(type) {
	case nil:
		return tagged{"nothing": nil}
	case types.Null:
		return tagged{"null": nil}
	case types.Bool:
		return tagged{"bool": bool(value)}
	case types.Int:
		return tagged{"int": int64(value)}
	case types.Uint:
		return tagged{"uint": uint64(value)}
	case types.Double:
		return tagged{"double": encodeDouble(float64(value))}
	case types.String:
		if !utf8.ValidString(string(value)) {
			return tagged{"raw": base64.StdEncoding.EncodeToString([]byte(value))}
		}
		return tagged{"string": string(value)}
	case types.Bytes:
		return tagged{"bytes": base64.StdEncoding.EncodeToString(value)}
	case types.Duration:
		return tagged{"duration": int64(value.Duration)}
	case types.Timestamp:
		return tagged{"timestamp": []int64{value.Unix(), int64(value.Nanosecond())}}
	case *types.Type:
		return tagged{"type": value.TypeName()}
	case *types.Optional:
		if !value.HasValue() {
			return tagged{"optional": []any{}}
		}
		return tagged{"optional": []any{encodeValue(value.GetValue())}}
	case *types.Err:
		return tagged{"error": value.Error()}
	case traits.Lister:
		elements := []any{}
		for it := value.Iterator(); it.HasNext() == types.True; {
			elements = append(elements, encodeValue(it.Next()))
		}
		return tagged{"list": elements}
	case traits.Mapper:
		return tagged{"map": encodeEntries(value)}
	}
	name := v.Type().TypeName()
	switch value := v.Value().(type) {
	case apiservercel.Format:
		return tagged{name: value.Name}
	case fmt.Stringer:
		return tagged{name: value.String()}
	default:
		return tagged{name: fmt.Sprintf("%T", value)}
	}
}

func encodeEntries(value traits.Mapper) [][2]any {
	entries := [][2]any{}
	texts := map[int]string{}
	for it := value.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		encoded := encodeValue(key)
		text, _ := json.Marshal(encoded)
		texts[len(entries)] = string(text)
		entries = append(entries, [2]any{encoded, encodeValue(value.Get(key))})
	}
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return texts[order[i]] < texts[order[j]] })
	sorted := make([][2]any, len(entries))
	for i, at := range order {
		sorted[i] = entries[at]
	}
	return sorted
}

func encodeDouble(value float64) string {
	switch {
	case math.IsNaN(value):
		return "NaN"
	case math.IsInf(value, 1):
		return "Infinity"
	case math.IsInf(value, -1):
		return "-Infinity"
	default:
		return strconv.FormatFloat(value, 'e', -1, 64)
	}
}

func decodeValue(encoded json.RawMessage) (ref.Val, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &members); err != nil {
		return nil, err
	}
	for kind, member := range members {
		return decodeMember(kind, member)
	}
	return nil, fmt.Errorf("a value without a kind: %s", encoded)
}

func decodeMember(kind string, member json.RawMessage) (ref.Val, error) {
	adapter := types.DefaultTypeAdapter
	var err error
	into := func(target any) { err = json.Unmarshal(member, target) }
	switch kind {
	case "null":
		return types.NullValue, nil
	case "bool":
		var value bool
		into(&value)
		return types.Bool(value), err
	case "int":
		var value int64
		into(&value)
		return types.Int(value), err
	case "uint":
		var value uint64
		into(&value)
		return types.Uint(value), err
	case "bytes":
		var value []byte
		into(&value)
		return types.Bytes(value), err
	case "raw":
		var value []byte
		into(&value)
		return types.String(value), err
	case "duration":
		var value int64
		into(&value)
		return types.Duration{Duration: time.Duration(value)}, err
	case "timestamp":
		var value [2]int64
		into(&value)
		return types.Timestamp{Time: time.Unix(value[0], value[1]).UTC()}, err
	case "list", "optional":
		var values []json.RawMessage
		into(&values)
		if err != nil {
			return nil, err
		}
		elements := make([]ref.Val, 0, len(values))
		for _, v := range values {
			element, err := decodeValue(v)
			if err != nil {
				return nil, err
			}
			elements = append(elements, element)
		}
		if kind == "list" {
			return adapter.NativeToValue(elements), nil
		}
		if len(elements) == 0 {
			return types.OptionalNone, nil
		}
		return types.OptionalOf(elements[0]), nil
	case "map":
		var entries [][2]json.RawMessage
		into(&entries)
		if err != nil {
			return nil, err
		}
		decoded := map[ref.Val]ref.Val{}
		for _, entry := range entries {
			key, err := decodeValue(entry[0])
			if err != nil {
				return nil, err
			}
			if decoded[key], err = decodeValue(entry[1]); err != nil {
				return nil, err
			}
		}
		return adapter.NativeToValue(decoded), nil
	}
	var text string
	into(&text)
	if err != nil {
		return nil, err
	}
	return decodeText(kind, text)
}

func decodeText(kind, text string) (ref.Val, error) {
	switch kind {
	case "string":
		return types.String(text), nil
	case "double":
		value, err := strconv.ParseFloat(text, 64)
		return types.Double(value), err
	case "type":
		return parseType(text)
	case "kubernetes.Quantity":
		value, err := resource.ParseQuantity(text)
		return apiservercel.Quantity{Quantity: &value}, err
	case "kubernetes.Semver":
		value, err := semver.Parse(text)
		return apiservercel.Semver{Version: value}, err
	case "kubernetes.URL":
		value, err := url.ParseRequestURI(text)
		return apiservercel.URL{URL: value}, err
	case "net.IP":
		value, err := netip.ParseAddr(text)
		return apiservercel.IP{Addr: value}, err
	case "net.CIDR":
		value, err := netip.ParsePrefix(text)
		return apiservercel.CIDR{Prefix: value}, err
	default:
		return nil, fmt.Errorf("no values of kind %q can be given", kind)
	}
}

var namedTypes = map[string]*cel.Type{
	"bool": cel.BoolType, "bytes": cel.BytesType, "double": cel.DoubleType, "dyn": cel.DynType,
	"int": cel.IntType, "null_type": cel.NullType, "string": cel.StringType, "uint": cel.UintType,
	"type": cel.TypeType, "list": cel.ListType(cel.DynType), "map": cel.MapType(cel.DynType, cel.DynType),
	"google.protobuf.Any": cel.AnyType, "google.protobuf.Duration": cel.DurationType,
	"google.protobuf.Timestamp": cel.TimestampType, "kubernetes.Quantity": apiservercel.QuantityType,
	"kubernetes.Semver": apiservercel.SemverType, "kubernetes.URL": apiservercel.URLType,
	"kubernetes.NamedFormat": apiservercel.FormatType,
	"net.IP":                 apiservercel.IPType, "net.CIDR": apiservercel.CIDRType,
}

// parseType reads a type in the form in which CEL prints it.
func parseType(text string) (*cel.Type, error) {
	parsed, rest, err := parseTypePrefix(text)
	if err == nil && rest != "" {
		err = fmt.Errorf("after a type: %q", rest)
	}
	return parsed, err
}

func parseTypePrefix(text string) (*cel.Type, string, error) {
	end := strings.IndexAny(text, "(),")
	if end < 0 {
		end = len(text)
	}
	name, rest := text[:end], text[end:]
	var parameters []*cel.Type
	for after, found := strings.CutPrefix(rest, "("); found; after, found = strings.CutPrefix(rest, ", ") {
		parameter, remaining, err := parseTypePrefix(after)
		if err != nil {
			return nil, "", err
		}
		parameters, rest = append(parameters, parameter), remaining
		if closed, done := strings.CutPrefix(rest, ")"); done {
			rest = closed
			break
		}
	}
	switch {
	case name == "list" && len(parameters) == 1:
		return cel.ListType(parameters[0]), rest, nil
	case name == "map" && len(parameters) == 2:
		return cel.MapType(parameters[0], parameters[1]), rest, nil
	case name == "optional_type" && len(parameters) == 1:
		return cel.OptionalType(parameters[0]), rest, nil
	case name == "type" && len(parameters) == 1:
		return types.NewTypeTypeWithParam(parameters[0]), rest, nil
	case name == "wrapper" && len(parameters) == 1:
		return types.NewNullableType(parameters[0]), rest, nil
	}
	if named := namedTypes[name]; named != nil && parameters == nil {
		return named, rest, nil
	}
	return nil, "", fmt.Errorf("no type %q", text)
}

func cut(tag string) (string, string, bool) { return strings.Cut(tag, ",") }

// sameJSON tells whether two values are written alike.
func sameJSON(a, b any) bool {
	first, _ := json.Marshal(a)
	second, _ := json.Marshal(b)
	return bytes.Equal(first, second)
}
