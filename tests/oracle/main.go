// The oracle answers questions about upstream's behaviour by running upstream's code.
//
// It reads one JSON request per line on stdin and writes one JSON answer per line on stdout, in
// order. A request names its operation in "op"; README.md lists operations and fields. The
// oracle holds no opinion of its own: it decodes, calls, and writes down what came back. A panic
// in upstream is an answer too ({"panic": ...}), so one bad input never ends a run.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/capabilities"
)

// A request carries objects of up to a few hundred kilobytes on one line.
const lineBytesMax = 64 << 20

// answerer answers one request. An error means the request itself made no sense; whatever
// upstream rejects belongs into the answer.
type answerer func(request json.RawMessage) (any, error)

var operations = map[string]answerer{
	"quantity":      answerQuantity,
	"quantityPair":  answerQuantityPair,
	"names":         answerNames,
	"semver":        answerSemver,
	"labelSelector": answerLabelSelector,
	"fieldSelector": answerFieldSelector,
	"fieldLabel":    answerFieldLabel,
	"gates":         answerGates,
	"validate":      answerValidate,
	"prepare":       answerPrepare,
	"convert":       answerConvert,
	"decode":        answerDecode,
	"revision":      answerRevision,
}

func main() {
	// Upstream logs whenever its two validation layers disagree; stderr is for the oracle's own.
	klog.SetLogger(logr.Discard())
	// Every cluster that runs system pods is started with --allow-privileged.
	capabilities.Setup(true, 0)
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func serve() error {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), lineBytesMax)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for in.Scan() {
		if err := encoder.Encode(answer(in.Bytes())); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	return out.Flush()
}

func answer(line []byte) (result any) {
	defer func() {
		if cause := recover(); cause != nil {
			result = map[string]any{"panic": fmt.Sprint(cause)}
		}
	}()
	var head struct {
		Op string `json:"op"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return requestError(err)
	}
	run, known := operations[head.Op]
	if !known {
		return requestError(fmt.Errorf("unknown operation %q", head.Op))
	}
	result, err := run(line)
	if err != nil {
		return requestError(err)
	}
	return result
}

func requestError(err error) any {
	return map[string]any{"requestError": err.Error()}
}
