// http.Post and http.Get on a connection that is kept.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	url := "http://" + os.Args[1] + ":" + os.Args[2] + "/"
	exchanges, _ := strconv.Atoi(os.Args[3])
	for number := 0; exchanges == 0 || number < exchanges; number++ {
		began := time.Now()
		var got *http.Response
		var err error
		if os.Args[4] == "POST" {
			got, err = http.Post(url, "text/plain", strings.NewReader(strings.Repeat("x", 400)))
		} else {
			got, err = http.Get(url)
		}
		if err != nil {
			panic(err)
		}
		io.Copy(io.Discard, got.Body)
		got.Body.Close()
		fmt.Printf("%f %f\n", float64(began.UnixNano())/1e9, time.Since(began).Seconds()*1000)
	}
	fmt.Println("done")
	io.Copy(io.Discard, os.Stdin)
}
