package main

import (
	"encoding/json"
	"errors"
)

type objectAnswer struct {
	DecodeError string          `json:"decodeError,omitempty"`
	Error       string          `json:"error,omitempty"`
	Object      json.RawMessage `json:"object,omitempty"`
}

// answerPrepare returns the object as the strategy leaves it before validation.
func answerPrepare(request json.RawMessage) (any, error) {
	var in writeRequest
	if err := json.Unmarshal(request, &in); err != nil {
		return nil, err
	}
	return withGates(in.Gates, func() (any, error) {
		w, err := in.open()
		var unreadable errDecode
		if errors.As(err, &unreadable) {
			return objectAnswer{DecodeError: err.Error()}, nil
		}
		if err != nil {
			return nil, err
		}
		if err := w.settle(w.prepare); err != nil {
			return objectAnswer{Error: err.Error()}, nil
		}
		encoded, err := encode(w.new.object, w.new.gvk.GroupVersion())
		if err != nil {
			return nil, err
		}
		return objectAnswer{Object: encoded}, nil
	})
}
