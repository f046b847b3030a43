// The admission oracle runs upstream's admission plugins on one request at a time.
//
// It reads one JSON case per line on stdin and writes one JSON answer per line on stdout, in order.
// A case names a plugin, the objects that exist, and a request; the answer is the object as the
// plugin leaves it, or the Status it refuses with. For quotas the answer says what would be used.
// A panic in upstream is an answer too.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// A case carries a few objects on one line.
const lineBytesMax = 16 << 20

func main() {
	klog.SetLogger(logr.Discard())
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

func answer(line []byte) (result map[string]any) {
	defer func() {
		if cause := recover(); cause != nil {
			result = map[string]any{"panic": fmt.Sprint(cause)}
		}
	}()
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return map[string]any{"requestError": err.Error()}
	}
	result, err := ask(asked)
	if err != nil {
		return map[string]any{"requestError": err.Error()}
	}
	return result
}
