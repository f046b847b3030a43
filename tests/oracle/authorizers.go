package main

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

const denial = "the oracle says no"

// verdict is an authorizer with one answer to everything.
type verdict bool

func (v verdict) Authorize(
	context.Context, authorizer.Attributes,
) (authorizer.Decision, string, error) {
	if v {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, denial, nil
}

// permissions is an authorizer that allows just what it lists: "verb subresource namespace/name".
type permissions []string

func (p permissions) Authorize(
	_ context.Context, asked authorizer.Attributes,
) (authorizer.Decision, string, error) {
	question := fmt.Sprintf(
		"%s %s %s/%s", asked.GetVerb(), asked.GetSubresource(), asked.GetNamespace(), asked.GetName(),
	)
	return verdict(slices.Contains(p, question)).Authorize(context.Background(), asked)
}
