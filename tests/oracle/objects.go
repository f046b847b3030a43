package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// decoded is an object as the API server holds it: internal version, defaults filled in.
type decoded struct {
	object runtime.Object
	gvk    schema.GroupVersionKind
}

func decode(raw json.RawMessage) (decoded, error) {
	object, gvk, err := legacyscheme.Codecs.UniversalDecoder().Decode(raw, nil, nil)
	if err != nil {
		return decoded{}, err
	}
	return decoded{object, *gvk}, nil
}

// encode writes the object at a version, with times that upstream took from the clock masked.
func encode(object runtime.Object, version schema.GroupVersion) (json.RawMessage, error) {
	serializer, err := jsonSerializer()
	if err != nil {
		return nil, err
	}
	encoder := legacyscheme.Codecs.EncoderForVersion(serializer.Serializer, version)
	raw, err := runtime.Encode(encoder, object)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(maskVolatile(string(raw))), nil
}

func jsonSerializer() (runtime.SerializerInfo, error) {
	media := legacyscheme.Codecs.SupportedMediaTypes()
	info, found := runtime.SerializerInfoForMediaType(media, runtime.ContentTypeJSON)
	if !found {
		return info, fmt.Errorf("no JSON serializer")
	}
	return info, nil
}

var (
	started        = time.Now().Truncate(time.Second)
	timestampText  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	pointerAddress = regexp.MustCompile(`\(?0xc[0-9a-f]{6,}\)?`)
)

// maskVolatile replaces what differs from run to run: times not older than this process, which
// can only have come from the clock, and addresses that leak into printed Go values.
func maskVolatile(text string) string {
	text = timestampText.ReplaceAllStringFunc(text, func(found string) string {
		when, err := time.Parse(time.RFC3339, found)
		if err != nil || when.Before(started) {
			return found
		}
		return "<now>"
	})
	return pointerAddress.ReplaceAllString(text, "<address>")
}
