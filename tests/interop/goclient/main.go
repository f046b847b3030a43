// Program goclient drives an API server the way Go programs do: client-go's typed clients, server-side
// apply, informers and leader election, against whatever a kubeconfig names.
//
//	goclient encode  < objects.jsonl     each JSON object as protobuf, base64, one a line
//	goclient kinds   --kubeconfig FILE   every kind created, updated, applied, patched, deleted
//	goclient informers --kubeconfig FILE events seen once each, across a restart of the server
//
// A failed expectation is written to standard error and the program ends with 1.
package main

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if len(os.Args) < 2 {
		fail("name a command: encode, kinds or informers")
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "of the server")
	restart := flags.Bool("restart", false, "say RESTART and wait for a line when the server is to be restarted")
	if err := flags.Parse(os.Args[2:]); err != nil {
		fail("%v", err)
	}
	if os.Args[1] == "encode" {
		encode()
		return
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fail("cannot read %s: %v", *kubeconfig, err)
	}
	// The client's own patience is not under test.
	config.QPS, config.Burst = 500, 1000
	config.UserAgent = "goclient/1.0"
	switch os.Args[1] {
	case "kinds":
		driveKinds(config)
	case "informers":
		driveInformers(config, *restart)
	default:
		fail("unknown command %q", os.Args[1])
	}
	finish()
}

var failures int

// expect notes a failure and goes on, so that one run shows all of them.
func expect(ok bool, format string, arguments ...any) bool {
	if !ok {
		failures++
		fmt.Fprintf(os.Stderr, "FAILED: "+format+"\n", arguments...)
	}
	return ok
}

func finish() {
	if failures > 0 {
		fail("%d expectations failed", failures)
	}
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}
