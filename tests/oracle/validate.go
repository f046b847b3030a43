package main

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Upstream walks maps in random order, so errors about map entries may come in another order next
// time. Go starts a small map's walk at one of eight places, and two neighbours swap only if it
// starts between them: this many attempts miss that once in a million.
const attempts = 100

// mapField finds the errors that can come out of such a walk: those about an entry, and those
// about a key, which name the map itself.
var mapField = regexp.MustCompile(
	`\[[^\]0-9]|\.(attributes|capacity|counters|nodeAllocatableResources|labels|annotations|` +
		`matchLabels|requests|limits|nodeSelector|overhead)$|` +
		`^status\.(capacity|allocatable)\.|^status\.storedVersions\[`,
)

type fieldError struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
	Text   string `json:"text"`
	Origin string `json:"origin,omitempty"`
}

type validateAnswer struct {
	DecodeError string `json:"decodeError,omitempty"`
	Rejected    string `json:"rejected,omitempty"`
	// Errors is empty for a valid object, and missing where validation was not reached.
	Errors   *[]fieldError `json:"errors,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	// Unordered says that upstream has no fixed order for these errors; they are sorted here.
	Unordered bool `json:"unordered,omitempty"`
	// Unstable says that not even the set of errors was the same each time.
	Unstable bool `json:"unstable,omitempty"`
}

func answerValidate(request json.RawMessage) (any, error) {
	var in writeRequest
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	return withGates(in.Gates, func() (any, error) {
		answer, err := in.validate()
		if err != nil {
			return nil, err
		}
		for range answer.attemptsNeeded() - 1 {
			again, err := in.validate()
			if err != nil {
				return nil, err
			}
			if !slices.Equal(*answer.Errors, *again.Errors) {
				answer.Unordered = true
				sortErrors(*answer.Errors)
				sortErrors(*again.Errors)
				answer.Unstable = answer.Unstable || !slices.Equal(*answer.Errors, *again.Errors)
			}
		}
		return answer, nil
	})
}

func (answer validateAnswer) attemptsNeeded() int {
	if answer.Errors == nil {
		return 1
	}
	entries := 0
	for _, err := range *answer.Errors {
		if mapField.MatchString(err.Field) {
			entries++
		}
	}
	if entries > 1 {
		return attempts
	}
	return 1
}

func (in writeRequest) validate() (validateAnswer, error) {
	w, err := in.open()
	var unreadable errDecode
	if errors.As(err, &unreadable) {
		return validateAnswer{DecodeError: err.Error()}, nil
	}
	if err != nil {
		return validateAnswer{}, err
	}
	prepare := func(runtime.Object) {}
	if in.Prepare {
		prepare = w.prepare
	}
	if err := w.settle(prepare); err != nil {
		return validateAnswer{Rejected: err.Error()}, nil
	}
	if answer, refused := w.refuseUnconditional(); refused {
		return answer, nil
	}
	var errs field.ErrorList
	if w.update == nil {
		errs = rest.ValidateCreate(w.ctx, w.new.object, w.kind.create)
	} else {
		errs = rest.ValidateUpdate(w.ctx, w.new.object, w.old.object, w.update)
	}
	answer := validateAnswer{Errors: describe(errs)}
	if len(errs) == 0 {
		answer.Warnings = w.warnings()
	}
	return answer, nil
}

// refuseUnconditional stands in for the store, which turns away an update without a resource
// version before any strategy sees it, unless the kind allows such updates.
func (w *write) refuseUnconditional() (validateAnswer, bool) {
	if w.update == nil {
		return validateAnswer{}, false
	}
	accessor, err := meta.Accessor(w.new.object)
	if err != nil || accessor.GetResourceVersion() != "" {
		return validateAnswer{}, false
	}
	if w.update.AllowUnconditionalUpdate(w.ctx) {
		return validateAnswer{}, false
	}
	path := field.NewPath("metadata").Child("resourceVersion")
	missing := field.Invalid(path, 0, "must be specified for an update")
	return validateAnswer{Errors: describe(field.ErrorList{missing})}, true
}

func (w *write) warnings() []string {
	if w.update == nil {
		return w.kind.create.WarningsOnCreate(w.ctx, w.new.object)
	}
	return w.update.WarningsOnUpdate(w.ctx, w.new.object, w.old.object)
}

func describe(errs field.ErrorList) *[]fieldError {
	described := make([]fieldError, 0, len(errs))
	for _, err := range errs {
		described = append(described, fieldError{
			Type:   string(err.Type),
			Field:  err.Field,
			Detail: maskVolatile(err.Detail),
			Text:   maskVolatile(err.Error()),
			Origin: err.Origin,
		})
	}
	return &described
}

func sortErrors(errs []fieldError) {
	slices.SortFunc(errs, func(a, b fieldError) int {
		if order := strings.Compare(a.Text, b.Text); order != 0 {
			return order
		}
		return strings.Compare(a.Type+a.Origin, b.Type+b.Origin)
	})
}
