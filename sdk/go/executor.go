// Package executor offers tasks to Carillon. Standard library only; the wire is docs/protocol.md.
//
//	e := executor.New(executor.Options{Listen: "127.0.0.1:9000", Application: "ledger", Key: os.Getenv("CARILLON_KEY"),
//		Servers: []string{"http://127.0.0.1:8420"}})
//	e.Task("/post", executor.Serial, func(c *executor.Call) (any, error) {
//		var params struct{ Total string }
//		if err := c.Params(&params); err != nil {
//			return nil, executor.Failure{Code: "NO_TOTAL", Message: err.Error()}
//		}
//		return map[string]any{"posted": params.Total}, nil
//	})
//	log.Fatal(e.Run())
//
// A Failure is a failure with a code of yours, a Delay asks to be called again later, any other error is a failure of code "error". An
// Async task is answered 202 at once and its end is reported until it is acknowledged. A key that was answered gets its first answer again,
// while this process lives.
package executor

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const callsPath = "/carillon/calls/"

type Failure struct{ Code, Message string }

func (f Failure) Error() string { return f.Code + ": " + f.Message }

type Delay struct{ Seconds int }

func (d Delay) Error() string { return fmt.Sprintf("again in %d s", d.Seconds) }

// Kind of a task; kinds add up.
type Kind int

const (
	Plain  Kind = 0
	Serial Kind = 1 // one call at a time
	Async  Kind = 2 // answered 202 at once
)

type Handler func(*Call) (any, error)

type Options struct {
	Listen, Key, Project, Application, Advertise, Version string
	Servers                                               []string
	Heartbeat                                             time.Duration // 10 s
	Remember                                              int           // keys; 10000
}

type told struct {
	Path        string `json:"path"`
	Description string `json:"description"`
	Serial      bool   `json:"serial"`
	Async       bool   `json:"async"`
}

type task struct {
	told    told
	handler Handler
	running int
}

type entry struct { // of a key
	body   []byte
	done   chan struct{}
	answer map[string]any
	async  bool
}

type Executor struct {
	options  Options
	server   http.Server
	listener net.Listener
	mutex    sync.Mutex
	tasks    []*task
	answers  map[string]*entry
	order    []string
	running  map[*Call]bool
	epochs   map[string]int64
	ended    sync.WaitGroup
	stopping chan struct{}
}

func New(options Options) *Executor {
	if options.Project == "" {
		options.Project = "default"
	}
	if options.Heartbeat == 0 {
		options.Heartbeat = 10 * time.Second
	}
	if options.Remember == 0 {
		options.Remember = 10000
	}
	return &Executor{options: options, answers: map[string]*entry{}, running: map[*Call]bool{}, epochs: map[string]int64{}, stopping: make(chan struct{})}
}

func (e *Executor) Task(path string, kind Kind, handler Handler) {
	e.tasks = append(e.tasks, &task{told: told{Path: path, Serial: kind&Serial != 0, Async: kind&Async != 0}, handler: handler})
}

// Call is what a task is given.
type Call struct {
	Key, Run, Job, Step, ScheduledAt, Deadline string
	Attempt, ShardIndex, ShardTotal            int
	Epoch                                      int64
	Body                                       []byte // the parameters, as they came
	executor                                   *Executor
	callbacks                                  []string
	mutex                                      sync.Mutex
	canceled, accepted                         bool
	state                                      map[string]any
	changed                                    bool
	lines                                      []string
	over                                       chan struct{}
}

func (c *Call) Params(into any) error { return json.Unmarshal(c.Body, into) }

// Canceled says: come to an end; canceled, ended otherwise, or the executor stops.
func (c *Call) Canceled() bool {
	select {
	case <-c.executor.stopping:
		return true
	default:
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.canceled
}

func (c *Call) Progress(percent int, message string) {
	c.mutex.Lock()
	c.state, c.changed = map[string]any{"state": "running", "progress": percent, "message": message}, true
	c.mutex.Unlock()
}

func (c *Call) Log(line string) {
	c.mutex.Lock()
	c.lines = append(c.lines, line)
	c.mutex.Unlock()
}

func (c *Call) cancel() {
	c.mutex.Lock()
	c.canceled = true
	c.mutex.Unlock()
}

var client = &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func send(method, address string, body []byte, headers map[string]string) (int, []byte) {
	request, err := http.NewRequest(method, address, bytes.NewReader(body))
	if err != nil {
		return 0, []byte(err.Error())
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, text
}

func settled(status int) bool { return status != 0 && status != 429 && status < 500 }

// To the first address that settles it.
func (c *Call) tell(suffix string, body []byte, kind string) (status int) {
	for _, address := range c.callbacks {
		var text []byte
		status, text = send("POST", address+suffix, body, map[string]string{"Content-Type": kind})
		var answer struct{ Canceled bool }
		if status == 200 && suffix == "" {
			_ = json.Unmarshal(text, &answer)
		}
		if answer.Canceled || status == 409 || status == 410 {
			c.cancel()
		}
		if settled(status) {
			break
		}
	}
	return status
}

func (c *Call) tellLog() {
	c.mutex.Lock()
	lines := c.lines
	c.lines = nil
	c.mutex.Unlock()
	if len(lines) > 0 {
		c.tell("/logs", []byte(strings.Join(lines, "\n")+"\n"), "text/plain; charset=utf-8")
	}
}

// Signs of life until the call is over.
func (c *Call) beat() {
	at := time.Now()
	for {
		select {
		case <-c.over:
			return
		case <-time.After(250 * time.Millisecond):
		}
		c.tellLog()
		c.mutex.Lock()
		due := c.changed || time.Since(at) >= c.executor.options.Heartbeat
		state := map[string]any{}
		for name, value := range c.state {
			state[name] = value
		}
		if c.accepted {
			state["within"] = fmt.Sprintf("%ds", int(c.executor.options.Heartbeat.Seconds()*3)+5)
		}
		body, _ := json.Marshal(state)
		if due {
			c.changed, at = false, time.Now()
		}
		c.mutex.Unlock()
		if due {
			c.tell("", body, "application/json")
		}
	}
}

// Until it is acknowledged, for a day.
func (c *Call) report(end map[string]any) {
	c.tellLog()
	body, _ := json.Marshal(end)
	pause, until := time.Second, time.Now().Add(24*time.Hour)
	for len(c.callbacks) > 0 && time.Now().Before(until) {
		status := c.tell("", body, "application/json")
		if status == 200 || status == 409 || status == 410 {
			return
		}
		if settled(status) {
			body, _ = json.Marshal(map[string]any{"state": "failed", "code": "REPORT_REFUSED", "message": fmt.Sprintf("the report was refused with %d", status)})
		}
		time.Sleep(pause)
		if pause *= 2; pause > time.Minute {
			pause = time.Minute
		}
	}
}

// ---- requests

func write(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(answer)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	write(w, status, map[string]any{"status": "failure", "code": code, "message": message})
}

func sign(key, id, at string, body []byte) string {
	secret, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func (e *Executor) signatureWrong(h http.Header, body []byte) string {
	keys := strings.Fields(e.options.Key)
	if len(keys) == 0 {
		return ""
	}
	id, at := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if away := time.Now().Unix() - seconds; err != nil || away > 300 || away < -300 {
		return "Webhook-Timestamp is missing, or more than five minutes away"
	}
	if key := h.Get("Idempotency-Key"); key != "" && key != id {
		return "Idempotency-Key is not Webhook-Id, so it is not covered by the signature"
	}
	for _, key := range keys {
		for _, given := range strings.Fields(h.Get("Webhook-Signature")) {
			if hmac.Equal([]byte(given), []byte(sign(key, id, at, body))) {
				return ""
			}
		}
	}
	return "Webhook-Signature does not match"
}

func (e *Executor) find(path string) *task {
	for _, t := range e.tasks {
		if t.told.Path == path {
			return t
		}
	}
	return nil
}

func (e *Executor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if path == "/healthz" {
		all := []told{}
		for _, t := range e.tasks {
			all = append(all, t.told)
		}
		write(w, 200, map[string]any{"status": "ok", "tasks": all})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
	if err != nil {
		refuse(w, 413, "TOO_BIG", err.Error())
		return
	}
	if wrong := e.signatureWrong(r.Header, body); wrong != "" {
		refuse(w, 401, "SIGNATURE", wrong)
		return
	}
	if strings.HasPrefix(path, callsPath) {
		e.serveCall(w, r.Method, strings.TrimPrefix(path, callsPath))
		return
	}
	t, canceling := e.find(path), false
	if t == nil && strings.HasSuffix(path, "/cancel") {
		t, canceling = e.find(strings.TrimSuffix(path, "/cancel")), true
	}
	switch {
	case t == nil:
		refuse(w, 404, "NO_TASK", "there is no task "+path+" here")
	case r.Method != "POST":
		refuse(w, 405, "METHOD", path+" takes POST")
	case canceling:
		e.cancelCalls(w, r.Header)
	case len(body) > 0 && !json.Valid(body):
		refuse(w, 400, "BAD_JSON", "the body is no JSON")
	default:
		e.take(w, t, e.newCall(r.Header, body))
	}
}

func (e *Executor) cancelCalls(w http.ResponseWriter, h http.Header) {
	key, run, step, n := h.Get("Idempotency-Key"), h.Get("X-Carillon-Run"), h.Get("X-Carillon-Step"), 0
	e.mutex.Lock()
	for c := range e.running {
		if (key != "" && c.Key == key) || (run != "" && c.Run == run && (step == "" || c.Step == step)) {
			c.cancel()
			n++
		}
	}
	e.mutex.Unlock()
	write(w, 200, map[string]any{"status": "success", "result": map[string]int{"canceled": n}})
}

func (e *Executor) serveCall(w http.ResponseWriter, method, key string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for c := range e.running {
		if c.Key != key {
			continue
		}
		status := 200
		if method == "DELETE" {
			c.cancel()
			status = 202
		}
		c.mutex.Lock()
		defer c.mutex.Unlock()
		write(w, status, c.state)
		return
	}
	if known := e.answers[key]; known != nil && known.async && known.answer != nil {
		write(w, 200, known.answer)
		return
	}
	refuse(w, 404, "NO_CALL", "there is no accepted call of this key here")
}

func (e *Executor) newCall(h http.Header, body []byte) *Call {
	c := &Call{Key: h.Get("Idempotency-Key"), Run: h.Get("X-Carillon-Run"), Job: h.Get("X-Carillon-Job"), Step: h.Get("X-Carillon-Step"),
		ScheduledAt: h.Get("X-Carillon-Scheduled-At"), Deadline: h.Get("X-Carillon-Deadline"), ShardTotal: 1, Body: body, executor: e,
		state: map[string]any{"state": "running"}, over: make(chan struct{})}
	if len(body) == 0 {
		c.Body = []byte("{}")
	}
	c.Attempt, _ = strconv.Atoi(h.Get("X-Carillon-Attempt"))
	c.Epoch, _ = strconv.ParseInt(h.Get("X-Carillon-Epoch"), 10, 64)
	c.ShardIndex, _ = strconv.Atoi(h.Get("X-Carillon-Shard-Index"))
	if total, err := strconv.Atoi(h.Get("X-Carillon-Shard-Total")); err == nil {
		c.ShardTotal = total
	}
	for _, address := range strings.Split(h.Get("X-Carillon-Callback"), ",") {
		if address = strings.TrimSpace(address); address != "" {
			c.callbacks = append(c.callbacks, address)
		}
	}
	return c
}

func (e *Executor) take(w http.ResponseWriter, t *task, c *Call) {
	if t.told.Async && c.Key == "" {
		random := make([]byte, 8)
		_, _ = rand.Read(random)
		c.Key = fmt.Sprintf("unnamed.%x", random)
	}
	e.mutex.Lock()
	seen, known := e.epochs[c.Run], e.answers[c.Key]
	stale, clash := c.Run != "" && c.Epoch < seen, known != nil && !bytes.Equal(known.body, c.Body)
	busy := known == nil && t.told.Serial && t.running > 0
	select {
	case <-e.stopping:
		busy = busy || known == nil
	default:
	}
	mine := !stale && !clash && !busy && known == nil
	if c.Run != "" && !stale {
		if len(e.epochs) > e.options.Remember {
			e.epochs = map[string]int64{}
		}
		e.epochs[c.Run] = c.Epoch
	}
	if mine {
		known = &entry{body: c.Body, done: make(chan struct{}), async: t.told.Async}
		t.running++
		e.running[c] = true
		e.ended.Add(1)
		e.remember(c.Key, known)
	}
	e.mutex.Unlock()
	switch {
	case stale:
		refuse(w, 409, "STALE_EPOCH", "run "+c.Run+" was taken over")
		return
	case clash:
		refuse(w, 422, "KEY_REUSED", "this idempotency key came before with another body")
		return
	case busy:
		w.Header().Set("Retry-After", "1")
		refuse(w, 429, "BUSY", t.told.Path+" runs a call already")
		return
	}
	if t.told.Async {
		e.accept(w, t, c, known, mine)
		return
	}
	if mine {
		if len(c.callbacks) > 0 {
			go c.beat()
		}
		e.carryOut(t, c, known)
		close(c.over)
	} else {
		<-known.done
		w.Header().Set("Idempotency-Replayed", "true")
	}
	write(w, 200, known.answer)
}

func (e *Executor) accept(w http.ResponseWriter, t *task, c *Call, known *entry, mine bool) {
	w.Header().Set("Location", callsPath+url.PathEscape(c.Key))
	write(w, 202, map[string]string{"status": "accepted"})
	if mine {
		c.accepted = true
		go c.beat()
		go func() {
			e.carryOut(t, c, known)
			close(c.over)
			c.report(known.answer)
		}()
		return
	}
	select {
	case <-known.done:
		go c.report(known.answer)
	default:
	}
}

func (e *Executor) remember(key string, known *entry) {
	if key == "" {
		return
	}
	e.answers[key] = known
	e.order = append(e.order, key)
	for len(e.order) > e.options.Remember {
		delete(e.answers, e.order[0])
		e.order = e.order[1:]
	}
}

func (e *Executor) carryOut(t *task, c *Call, known *entry) {
	word, success, failure := "status", "success", "failure"
	if t.told.Async {
		word, success, failure = "state", "succeeded", "failed"
	}
	result, err := protected(t.handler, c)
	var failed Failure
	var delay Delay
	answer := map[string]any{word: success, "result": result}
	switch {
	case errors.As(err, &delay):
		answer = map[string]any{word: "delay", "after": fmt.Sprintf("%ds", delay.Seconds)}
	case errors.As(err, &failed):
		answer = map[string]any{word: failure, "code": failed.Code, "message": failed.Message}
	case err != nil:
		answer = map[string]any{word: failure, "code": "error", "message": err.Error()}
	}
	e.mutex.Lock()
	t.running--
	delete(e.running, c)
	known.answer = answer
	if errors.As(err, &delay) {
		delete(e.answers, c.Key)
	}
	e.mutex.Unlock()
	close(known.done)
	e.ended.Done()
}

func protected(handler Handler, c *Call) (result any, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = Failure{"panic", fmt.Sprint(reason)}
		}
	}()
	return handler(c)
}

// ---- life

func (e *Executor) Address() string {
	if e.options.Advertise != "" {
		return e.options.Advertise
	}
	return e.listener.Addr().String()
}

func (e *Executor) announce(verb string) bool {
	o, body, method := e.options, []byte{}, "DELETE"
	if verb == "register" {
		all := []told{}
		for _, t := range e.tasks {
			all = append(all, t.told)
		}
		body, _ = json.Marshal(map[string]any{"tasks": all, "version": o.Version})
		method = "PUT"
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	id := fmt.Sprintf("%s:%s/%s/%s:%d", verb, o.Project, o.Application, e.Address(), time.Now().UnixNano())
	for _, server := range o.Servers {
		status, text := send(method, strings.TrimRight(server, "/")+"/api/v1/projects/"+o.Project+"/apps/"+o.Application+"/instances/"+url.PathEscape(e.Address()), body,
			map[string]string{"Content-Type": "application/json", "Webhook-Id": id, "Webhook-Timestamp": at, "Webhook-Signature": sign(strings.Fields(o.Key)[0], id, at, body)})
		if status >= 200 && status < 300 {
			return true
		}
		log.Printf("not registered at %s: %d %.200s", server, status, text)
	}
	return false
}

// Run serves until SIGINT or SIGTERM; then it takes its name off, refuses new calls and lets those that run end.
func (e *Executor) Run() (err error) {
	if e.listener, err = net.Listen("tcp", e.options.Listen); err != nil {
		return err
	}
	e.server.Handler = e
	go func() { _ = e.server.Serve(e.listener) }()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	for again := time.Duration(0); ; {
		select {
		case <-stop:
			if len(e.options.Servers) > 0 {
				e.announce("leave")
			}
			close(e.stopping)
			e.ended.Wait()
			patience, done := context.WithTimeout(context.Background(), time.Second)
			defer done()
			return e.server.Shutdown(patience)
		case <-time.After(again):
			again = 10 * time.Second
			if len(e.options.Servers) > 0 && !e.announce("register") {
				again = 2 * time.Second
			}
		}
	}
}
