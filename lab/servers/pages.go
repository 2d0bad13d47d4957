// A server on Go's sockets with Nagle on: header and body are two writes, and every fourth answer is one.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"
)

func answer(end net.Conn) {
	defer end.Close()
	end.(*net.TCPConn).SetNoDelay(false)
	octets := bufio.NewReader(end)
	for number := 0; ; number++ {
		for line := "?"; line != "\r\n"; {
			var err error
			if line, err = octets.ReadString('\n'); err != nil {
				return
			}
		}
		header := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", 400)
		body := strings.Repeat("x", 400)
		if number%4 == 3 {
			fmt.Fprint(end, header+body)
			continue
		}
		fmt.Fprint(end, header)
		fmt.Fprint(end, body)
	}
}

func main() {
	listener, err := net.Listen("tcp", ":"+os.Args[1])
	if err != nil {
		panic(err)
	}
	for {
		if end, err := listener.Accept(); err == nil {
			go answer(end)
		}
	}
}
