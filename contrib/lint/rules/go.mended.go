package example

import (
	"bufio"
	"net"
)

func send(conn net.Conn, header, body []byte) error {
	w := bufio.NewWriter(conn)
	w.Write(header)
	// ok: go-head-written-apart
	w.Write(body)
	return w.Flush()
}
