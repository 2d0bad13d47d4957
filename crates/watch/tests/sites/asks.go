// Asks twice in two writes each time, so that the second waits.
package main

import (
	"net"
	"os"
)

//go:noinline
func askInTwoWrites(connection net.Conn) {
	connection.Write(make([]byte, 40))
	connection.Write(make([]byte, 400)) // here
}

// The compiler puts it into main.
func askOften(connection net.Conn, answer []byte) {
	for i := 0; i < 40; i++ {
		askInTwoWrites(connection)
		if _, err := connection.Read(answer); err != nil {
			panic(err)
		}
	}
}

func main() {
	connection, err := net.Dial("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	connection.(*net.TCPConn).SetNoDelay(false)
	askOften(connection, make([]byte, 1))
}
