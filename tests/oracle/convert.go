package main

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// answerConvert reads the object at its own version, with defaults, and writes it at another.
func answerConvert(request json.RawMessage) (any, error) {
	var in struct {
		Object json.RawMessage `json:"object"`
		To     string          `json:"to"`
	}
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	object, err := decode(in.Object)
	if err != nil {
		return objectAnswer{DecodeError: err.Error()}, nil
	}
	version, err := schema.ParseGroupVersion(in.To)
	if err != nil {
		return nil, err
	}
	encoded, err := encode(object.object, version)
	if err != nil {
		return objectAnswer{Error: err.Error()}, nil
	}
	return objectAnswer{Object: encoded}, nil
}

type decodeAnswer struct {
	DecodeError string `json:"decodeError,omitempty"`
	// StrictError is what fieldValidation=Strict would add: unknown and duplicate fields.
	StrictError string          `json:"strictError,omitempty"`
	Plain       json.RawMessage `json:"plain,omitempty"`
	Defaulted   json.RawMessage `json:"defaulted,omitempty"`
}

// answerDecode reads and writes the object at its own version, without and with defaulting.
func answerDecode(request json.RawMessage) (any, error) {
	var in struct {
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	object, err := decode(in.Object)
	if err != nil {
		return decodeAnswer{DecodeError: err.Error()}, nil
	}
	answer := decodeAnswer{}
	serializer, err := jsonSerializer()
	if err != nil {
		return nil, err
	}
	if _, _, err := serializer.StrictSerializer.Decode(in.Object, nil, nil); err != nil {
		answer.StrictError = err.Error()
	}
	versioned, _, err := serializer.Serializer.Decode(in.Object, nil, nil)
	if err != nil {
		return nil, err
	}
	plain, err := runtime.Encode(serializer.Serializer, versioned)
	if err != nil {
		return nil, err
	}
	answer.Plain = plain
	if answer.Defaulted, err = encode(object.object, object.gvk.GroupVersion()); err != nil {
		return nil, err
	}
	return answer, nil
}
