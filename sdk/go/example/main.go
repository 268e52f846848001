// The tasks of the clients' test, in Go: example HOST:PORT [SERVER KEY]
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"carillon/executor"
)

func greet(c *executor.Call) (any, error) {
	params := struct {
		Name        string
		Fail, Delay bool
	}{Name: "world"}
	if err := c.Params(&params); err != nil {
		return nil, err
	}
	if params.Fail {
		return nil, executor.Failure{Code: "NO_NAME", Message: "who is it?"}
	}
	if params.Delay {
		return nil, executor.Delay{Seconds: 1}
	}
	return map[string]string{"hello": params.Name, "step": c.Step}, nil
}

func long(c *executor.Call) (any, error) {
	params := struct{ Seconds int }{1}
	if err := c.Params(&params); err != nil {
		return nil, err
	}
	for tenth := 0; tenth < params.Seconds*10; tenth++ {
		if c.Canceled() {
			return nil, executor.Failure{Code: "CANCELED", Message: "stopped, as asked"}
		}
		if tenth%5 == 0 {
			page := fmt.Sprintf("page %d", tenth/5+1)
			c.Progress(min(tenth, 100), page)
			c.Log(page)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return map[string]int{"pages": 2}, nil
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

func main() {
	options := executor.Options{Listen: os.Args[1], Application: "go", Heartbeat: time.Second, Version: "1.0"}
	if len(os.Args) > 3 {
		options.Servers, options.Key = []string{os.Args[2]}, os.Args[3]
	}
	e, counted := executor.New(options), 0
	e.Task("/greet", executor.Plain, greet)
	e.Task("/count", executor.Serial, func(*executor.Call) (any, error) {
		time.Sleep(300 * time.Millisecond)
		counted++
		return map[string]int{"count": counted}, nil
	})
	e.Task("/long", executor.Async, long)
	if err := e.Run(); err != nil {
		log.Fatal(err)
	}
}
