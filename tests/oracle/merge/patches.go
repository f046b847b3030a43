package main

import (
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	kjson "sigs.k8s.io/json"
)

// The limit a server starts with.
const copiedBytesMax = 3 * 1024 * 1024

func init() { jsonpatch.AccumulatedCopySizeLimit = copiedBytesMax }

func failed(stage string, err error) map[string]any {
	return map[string]any{"error": err.Error(), "stage": stage}
}

func jsonPatch(asked request) any {
	patch, err := jsonpatch.DecodePatch(asked.Patch)
	if err != nil {
		return failed("decode", err)
	}
	result, err := patch.Apply(asked.Document)
	if err != nil {
		return failed("apply", err)
	}
	return map[string]any{"result": json.RawMessage(result)}
}

func mergePatch(asked request) any {
	result, err := jsonpatch.MergePatch(asked.Document, asked.Patch)
	if err != nil {
		return failed("apply", err)
	}
	return map[string]any{"result": json.RawMessage(result)}
}

// strategicMerge decodes as the handler does, so that whole numbers stay whole.
func strategicMerge(asked request) any {
	typed, err := legacyscheme.Scheme.New(schema.FromAPIVersionAndKind(asked.APIVersion, asked.Kind))
	if err != nil {
		return map[string]any{"requestError": err.Error()}
	}
	document, patch := map[string]any{}, map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(asked.Document, &document); err != nil {
		return map[string]any{"requestError": err.Error()}
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(asked.Patch, &patch); err != nil {
		return failed("decode", err)
	}
	result, err := strategicpatch.StrategicMergeMapPatch(document, patch, typed)
	if err != nil {
		return failed("apply", err)
	}
	return map[string]any{"result": result}
}
