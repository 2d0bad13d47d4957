// A server whose goroutine writes and then computes. Each line asks for microseconds of work: it answers with the time
// of its first write, works without a system call, and answers with the rest in seven writes.
package main

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	for {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go serve(connection)
	}
}

func serve(connection net.Conn) {
	defer connection.Close()
	lines := bufio.NewScanner(connection)
	for lines.Scan() {
		work, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			return
		}
		now := time.Now()
		fmt.Fprintf(connection, "%d\n", now.UnixNano())
		for time.Since(now) < time.Duration(work)*time.Microsecond {
		}
		for range 7 {
			fmt.Fprint(connection, "rest\n")
		}
	}
}
