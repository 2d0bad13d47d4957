// +build !go1.8

package main

func legacy(conn net.Conn, bufs ...[]byte) error {
	for _, buf := range bufs {
		// ok: go-pieces-written-in-a-loop
		if _, err := conn.Write(buf); err != nil {
			return err
		}
	}
	return nil
}
