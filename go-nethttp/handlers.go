package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
)

var requests atomic.Int64

// alphabets is a piece of /bytes, so that every piece starts with "a".
var alphabets = bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz"), 1_260)

func handler(backlog int) http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /{$}", respond(func(*http.Request) (string, error) { return "Hello, World!", nil }))
	routes.HandleFunc("GET /sleep", respond(sleep))
	routes.HandleFunc("GET /cpu", respond(cpu))
	routes.HandleFunc("GET /bytes", sendBytes)
	routes.HandleFunc("GET /info", func(w http.ResponseWriter, _ *http.Request) { info(w, backlog) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.TransferEncoding != nil {
			w.Header().Set("Connection", "close") // net/http accepts a Content-Length in addition
		}
		routes.ServeHTTP(w, r)
	})
}

func respond(body func(*http.Request) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := body(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/plain;charset=utf-8")
		io.WriteString(w, text)
	}
}

func sleep(r *http.Request) (string, error) {
	ms, err := number(r, "ms", "10000", 60_000)
	time.Sleep(time.Duration(ms) * time.Millisecond) // blocks this goroutine, not its OS thread
	return "Hello, World!", err
}

func cpu(r *http.Request) (string, error) {
	rounds, bad := number(r, "rounds", "", 10_000_000)
	ms, err := number(r, "ms", "0", 60_000)
	if err = errors.Join(bad, err); err != nil {
		return "", err
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	var digest [sha256.Size]byte
	for range rounds {
		digest = sha256.Sum256(digest[:])
	}
	return fmt.Sprintf("%x", digest), nil
}

func sendBytes(w http.ResponseWriter, r *http.Request) {
	left, err := number(r, "n", "", 16_777_216)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(left))
	for ; left > 0 && err == nil; left -= len(alphabets) {
		_, err = w.Write(alphabets[:min(left, len(alphabets))])
	}
}

func info(w http.ResponseWriter, backlog int) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{
		"server": "go-nethttp", "variant": "goroutine", "model": "goroutine", "framework": "net/http",
		"framework_version": runtime.Version()[2:], "runtime": "Go", "runtime_version": runtime.Version()[2:],
		"transport": "epoll", "pid": os.Getpid(), "thread": "a goroutine", "virtual": false,
		"heap_used": nil, "heap_committed": nil, "heap_max": nil, "gc": []string{}, "gc_count": 0, "gc_time_ms": 0,
		"requests": requests.Load(),
		"limits":   map[string]any{"max_threads": nil, "max_connections": nil, "backlog": backlog},
	})
}

// number returns an integer of the query, or its default if it is missing.
func number(r *http.Request, name, missing string, most int) (int, error) {
	value, err := strconv.ParseUint(cmp.Or(r.FormValue(name), missing), 10, 32)
	if err != nil || int(value) > most {
		return 0, fmt.Errorf("%s must be an integer from 0 to %d", name, most)
	}
	return int(value), nil
}
