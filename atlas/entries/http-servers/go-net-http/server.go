// The documentation's server; /streamed flushes each of four pieces.
package main

import (
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	http.HandleFunc("/whole", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 400)) })
	http.HandleFunc("/streamed", func(w http.ResponseWriter, _ *http.Request) {
		for range 4 {
			io.WriteString(w, strings.Repeat("x", 100))
			w.(http.Flusher).Flush()
		}
	})
	http.ListenAndServe(":"+os.Args[1], nil)
}
