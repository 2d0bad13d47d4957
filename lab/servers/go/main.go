// Go's own HTTP server, for lab/run-go: `server ADDRESS [by-hand]`.
//
// /chunks answers in ten pieces of 60 octets, each flushed; /one in one write of 600 octets. With by-hand, what is
// written to a connection is kept until the server reads from it again, and leaves in one write.
package main

import (
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

const pieces = 10

func main() {
	piece := []byte(strings.Repeat("0123456789", 6))
	whole := []byte(strings.Repeat(string(piece), pieces))
	http.HandleFunc("/chunks", func(answer http.ResponseWriter, _ *http.Request) {
		for i := 0; i < pieces; i++ {
			answer.Write(piece)
			answer.(http.Flusher).Flush()
		}
	})
	http.HandleFunc("/one", func(answer http.ResponseWriter, _ *http.Request) {
		answer.Header().Set("Content-Length", strconv.Itoa(len(whole)))
		answer.Write(whole)
	})
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		panic(err)
	}
	if len(os.Args) > 2 && os.Args[2] == "by-hand" {
		listener = buffering{listener}
	}
	panic(http.Serve(listener, nil))
}

type buffering struct{ net.Listener }

func (listener buffering) Accept() (net.Conn, error) {
	connection, err := listener.Listener.Accept()
	return &buffered{Conn: connection}, err
}

// The server reads in the background while it answers, but that read begins before the answer.
type buffered struct {
	net.Conn
	lock sync.Mutex
	kept []byte
}

func (connection *buffered) Write(octets []byte) (int, error) {
	connection.lock.Lock()
	defer connection.lock.Unlock()
	connection.kept = append(connection.kept, octets...)
	return len(octets), nil
}

func (connection *buffered) Read(octets []byte) (int, error) {
	if err := connection.flush(); err != nil {
		return 0, err
	}
	return connection.Conn.Read(octets)
}

func (connection *buffered) Close() error {
	connection.flush()
	return connection.Conn.Close()
}

func (connection *buffered) flush() (err error) {
	connection.lock.Lock()
	defer connection.lock.Unlock()
	if len(connection.kept) > 0 {
		_, err = connection.Conn.Write(connection.kept)
		connection.kept = connection.kept[:0]
	}
	return err
}
