// Command allocator answers how Kubernetes' own allocator of devices decides a
// case. It reads one JSON object per line on standard input and writes one per
// line on standard output, in the same order.
//
// A case has the allocator's inputs as the API writes them, without defaults:
// features (names of gates), node, classes, slices, claims, and what is in use:
// allocated, shared and consumed. The answer has results or error; neither
// means that the claims do not fit.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	timeout := flag.Duration("timeout", 2*time.Second, "how long one attempt may take")
	// Of two texts the rarer one may come up once in eight attempts: that is how
	// Go shuffles small maps.
	repeats := flag.Int("repeats", 100, "how often a case is tried whose error may have several texts")
	flag.Parse()
	o := newOracle(*timeout, *repeats)
	in := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			if err := encoder.Encode(o.respond(line)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			// Whoever asks one case at a time waits for its answer.
			if in.Buffered() == 0 {
				if err := out.Flush(); err != nil {
					os.Exit(1)
				}
			}
		}
		if err != nil {
			return
		}
	}
}
