package main

import (
	"encoding/json"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

type quantityAnswer struct {
	Error            string  `json:"error,omitempty"`
	Canonical        string  `json:"canonical,omitempty"`
	Format           string  `json:"format,omitempty"`
	Sign             *int    `json:"sign,omitempty"`
	Value            *int64  `json:"value,omitempty"`
	MilliValue       *int64  `json:"milliValue,omitempty"`
	AsInt64          *int64  `json:"asInt64,omitempty"`
	ApproximateFloat string  `json:"approximateFloat,omitempty"`
	Decimal          string  `json:"decimal,omitempty"`
	JSON             *string `json:"json,omitempty"`
	JSONError        string  `json:"jsonError,omitempty"`
}

// answerQuantity reads the text twice: as a command line would, and as the wire would (a JSON
// string, decoded and encoded again). Every number comes from a parse of its own, because several
// accessors of a Quantity cache into it.
func answerQuantity(request json.RawMessage) (any, error) {
	var in struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	result := quantityAnswer{}
	result.JSON, result.JSONError = throughJSON(in.Text)
	parsed, err := resource.ParseQuantity(in.Text)
	if err != nil {
		result.Error = err.Error()
		return result, nil
	}
	fresh := func() *resource.Quantity {
		again := resource.MustParse(in.Text)
		return &again
	}
	sign, value, milliValue := fresh().Sign(), fresh().Value(), fresh().MilliValue()
	result.Canonical = fresh().String()
	result.Format = string(parsed.Format)
	result.Sign, result.Value, result.MilliValue = &sign, &value, &milliValue
	if exact, ok := fresh().AsInt64(); ok {
		result.AsInt64 = &exact
	}
	result.ApproximateFloat = strconv.FormatFloat(fresh().AsApproximateFloat64(), 'g', -1, 64)
	result.Decimal = fresh().AsDec().String()
	return result, nil
}

func throughJSON(text string) (*string, string) {
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, err.Error()
	}
	var quantity resource.Quantity
	if err := json.Unmarshal(quoted, &quantity); err != nil {
		return nil, err.Error()
	}
	encoded, err := json.Marshal(quantity)
	if err != nil {
		return nil, err.Error()
	}
	var printed string
	if err := json.Unmarshal(encoded, &printed); err != nil {
		return nil, err.Error()
	}
	return &printed, ""
}

type quantityPairAnswer struct {
	Error      string `json:"error,omitempty"`
	Cmp        *int   `json:"cmp,omitempty"`
	Equal      *bool  `json:"equal,omitempty"`
	Sum        string `json:"sum,omitempty"`
	Difference string `json:"difference,omitempty"`
	Product    string `json:"product,omitempty"`
	// Exact says whether the product stayed within upstream's int64 representation.
	Exact *bool `json:"exact,omitempty"`
}

func answerQuantityPair(request json.RawMessage) (any, error) {
	var in struct {
		A      string `json:"a"`
		B      string `json:"b"`
		Factor *int64 `json:"factor"`
	}
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	a, err := resource.ParseQuantity(in.A)
	if err != nil {
		return quantityPairAnswer{Error: err.Error()}, nil
	}
	b, err := resource.ParseQuantity(in.B)
	if err != nil {
		return quantityPairAnswer{Error: err.Error()}, nil
	}
	cmp, equal := a.Cmp(b), a.Equal(b)
	sum, difference := a.DeepCopy(), a.DeepCopy()
	sum.Add(b)
	difference.Sub(b)
	result := quantityPairAnswer{
		Cmp: &cmp, Equal: &equal, Sum: sum.String(), Difference: difference.String(),
	}
	if in.Factor != nil {
		product := a.DeepCopy()
		exact := product.Mul(*in.Factor)
		result.Product, result.Exact = product.String(), &exact
	}
	return result, nil
}
