// Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

func main() {
	end, err := net.Dial("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	// Go's default is the other way.
	end.(*net.TCPConn).SetNoDelay(len(os.Args) > 2)
	answer := make([]byte, 2)
	for i := 0; i < 20; i++ {
		began := time.Now()
		end.Write(make([]byte, 40))
		end.Write(make([]byte, 400))
		if _, err := io.ReadFull(end, answer); err != nil {
			panic(err)
		}
		fmt.Println(float64(time.Since(began).Nanoseconds()) / 1e6)
	}
}
