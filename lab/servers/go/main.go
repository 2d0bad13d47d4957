// Go's own HTTP server, for lab/run-go: `server ADDRESS`.
//
// /chunks answers in ten pieces of 60 octets, each flushed; /one in one write of 600 octets.
package main

import (
	"net/http"
	"os"
	"strconv"
	"strings"
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
	panic(http.ListenAndServe(os.Args[1], nil))
}
