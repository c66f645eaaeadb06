// One HTTP contract on Go's standard library: the server starts a goroutine for each connection, and a handler may block
// it. The runtime moves goroutines among a few OS threads.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	log.SetFlags(0)
	if variant, set := os.LookupEnv("VARIANT"); set && variant != "goroutine" {
		log.Fatalf("VARIANT must be goroutine, got %q", variant)
	}
	setting("MAX_THREADS", 200, 100_000) // there is no pool, but a bad value is an error in every server
	port, backlog := setting("PORT", 8106, 65_535), setting("BACKLOG", 65_535, 65_535)
	address := net.JoinHostPort(cmp.Or(os.Getenv("HOST"), "127.0.0.1"), strconv.Itoa(port))
	listener, err := listen(address, backlog)
	if err != nil {
		log.Fatalf("HOST and PORT: %v", err)
	}
	server := &http.Server{Handler: handler(backlog), IdleTimeout: 120 * time.Second, MaxHeaderBytes: 64 << 10}
	server.ErrorLog = log.New(io.Discard, "", 0) // a client's error is not the server's
	stop, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	fmt.Printf("listening on http://%s (go-nethttp:goroutine)\n", address)
	go func() {
		if err := server.Serve(listener); err != http.ErrServerClosed {
			log.Fatal(err)
		}
	}()
	<-stop.Done()
	limit, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	server.Shutdown(limit)
}

// listen opens the socket. A second listen() sets the backlog, for which net.Listen has no parameter.
func listen(address string, backlog int) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	socket, err := listener.(*net.TCPListener).SyscallConn()
	if err == nil {
		err = socket.Control(func(fd uintptr) { syscall.Listen(int(fd), backlog) })
	}
	return listener, err
}

func setting(name string, missing, most int) int {
	text, set := os.LookupEnv(name)
	if !set {
		return missing
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 || value > most {
		log.Fatalf("%s must be an integer from 1 to %d, got %q", name, most, text)
	}
	return value
}
