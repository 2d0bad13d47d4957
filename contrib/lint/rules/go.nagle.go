package example

import "net"

func nagle(conn *net.TCPConn) {
	// ruleid: go-nagle-on
	conn.SetNoDelay(false)
	// ok: go-nagle-on
	conn.SetNoDelay(true)
}
