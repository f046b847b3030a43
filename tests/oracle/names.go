package main

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	core "k8s.io/kubernetes/pkg/apis/core"
	corehelper "k8s.io/kubernetes/pkg/apis/core/helper"
)

// plainRules return bare messages; an empty list accepts the text.
var plainRules = map[string]func(string) []string{
	"dnsLabel":             validation.IsDNS1123Label,
	"dnsSubdomain":         validation.IsDNS1123Subdomain,
	"dnsSubdomainCaseless": content.IsDNS1123SubdomainCaseless,
	"dns1035Label":         validation.IsDNS1035Label,
	"labelKey":             content.IsLabelKey,
	"labelValue":           content.IsLabelValue,
	"prefixedLabelKey":     content.IsPrefixedLabelKey,
	"cIdentifier":          content.IsCIdentifier,
	"pathSegment":          content.IsPathSegmentName,
	"configMapKey":         validation.IsConfigMapKey,
	"environmentName":      validation.IsEnvVarName,
	"nameSubdomain":        func(text string) []string { return apivalidation.NameIsDNSSubdomain(text, false) },
	"nameSubdomainPrefix":  func(text string) []string { return apivalidation.NameIsDNSSubdomain(text, true) },
	"nameLabel":            func(text string) []string { return apivalidation.NameIsDNSLabel(text, false) },
	"nameLabelPrefix":      func(text string) []string { return apivalidation.NameIsDNSLabel(text, true) },
}

type declarativeRule = func(
	context.Context, operation.Operation, *field.Path, *string, *string,
) field.ErrorList

// declarativeRules are the string formats of upstream's declarative validation.
var declarativeRules = map[string]declarativeRule{
	"shortName":                  validate.ShortName[string],
	"longName":                   validate.LongName[string],
	"longNameCaseless":           validate.LongNameCaseless[string],
	"uuid":                       validate.UUID[string],
	"resourcePoolName":           validate.ResourcePoolName[string],
	"extendedResourceName":       validate.ExtendedResourceName[string],
	"resourceFullyQualifiedName": validate.ResourceFullyQualifiedName[string],
}

// answerNames returns, for every rule that rejects the text, why. A rule that is missing from the
// answer accepts it. Rules working on field errors answer with "<type>: <body>".
func answerNames(request json.RawMessage) (any, error) {
	var in struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	rejected := map[string][]string{}
	for name, rule := range plainRules {
		if messages := rule(in.Text); len(messages) > 0 {
			rejected[name] = messages
		}
	}
	path := field.NewPath("x")
	keep := func(name string, errs field.ErrorList) {
		for _, err := range errs {
			rejected[name] = append(rejected[name], string(err.Type)+": "+err.Field+": "+err.Detail)
		}
	}
	create := operation.Operation{Type: operation.Create}
	for name, rule := range declarativeRules {
		text := in.Text
		keep(name, rule(context.Background(), create, path, &text, nil))
	}
	keep("interfaceAddress", validation.IsValidInterfaceAddress(path, in.Text))
	keep("finalizerName", apivalidation.ValidateFinalizerName(in.Text, path))
	if !corehelper.IsExtendedResourceName(core.ResourceName(in.Text)) {
		rejected["coreExtendedResourceName"] = []string{"not an extended resource name"}
	}
	return map[string]any{"rejected": rejected}, nil
}
