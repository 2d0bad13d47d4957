// A server that answers each line with pieces of its own: `server PIECES`. If FILE names a file, an
// answer is "head\n" and that file, sent by sendfile(2). If NAGLE is set, TCP_NODELAY is not.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	pieces, _ := strconv.Atoi(os.Args[1])
	fmt.Println(listener.Addr())
	for {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go answer(connection, pieces)
	}
}

func answer(connection net.Conn, pieces int) {
	defer connection.Close()
	if os.Getenv("NAGLE") != "" {
		connection.(*net.TCPConn).SetNoDelay(false)
	}
	lines := bufio.NewScanner(connection)
	for lines.Scan() {
		if name := os.Getenv("FILE"); name != "" {
			io.WriteString(connection, "head\n")
			file, _ := os.Open(name)
			length, _ := file.Seek(0, io.SeekEnd)
			file.Seek(0, io.SeekStart)
			io.CopyN(connection, file, length)
			file.Close()
			continue
		}
		for piece := 0; piece < pieces; piece++ {
			fmt.Fprintf(connection, "%s %d\n", lines.Text(), piece)
		}
	}
}
