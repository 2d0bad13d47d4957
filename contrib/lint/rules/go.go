package example

import (
	"encoding/binary"
	"io"
	"net"
	"syscall"
)

func raw(address syscall.Sockaddr) (int, error) {
	// ruleid: go-raw-socket-with-nagle
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	return fd, syscall.Connect(fd, address)
}

func local() (int, error) {
	// ok: go-raw-socket-with-nagle
	return syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
}

func send(conn net.Conn, kind, body []byte) error {
	if _, err := conn.Write(kind); err != nil {
		return err
	}
	// ruleid: go-two-writes
	_, err := conn.Write(body)
	return err
}

func number(conn net.Conn, body []byte) error {
	if err := binary.Write(conn, binary.BigEndian, uint32(len(body))); err != nil {
		return err
	}
	// ruleid: go-two-writes
	_, err := conn.Write(body)
	return err
}

func frame(w io.Writer, body []byte) error {
	header := make([]byte, 4)
	binary.BigEndian.PutUint32(header, uint32(len(body)))
	_, err := w.Write(header)
	if err != nil {
		return err
	}
	// ruleid: go-head-written-apart
	_, err = w.Write(body)
	return err
}

func once(conn net.Conn, message []byte) error {
	// ok: go-two-writes
	_, err := conn.Write(message)
	return err
}

func gathered(buf io.Writer, header, body []byte) {
	buf.Write(header)
	// ok: go-head-written-apart
	buf.Write(body)
}

func pieces(conn net.Conn, bufs ...[]byte) error {
	for _, buf := range bufs {
		// ruleid: go-pieces-written-in-a-loop
		if _, err := conn.Write(buf); err != nil {
			return err
		}
	}
	for _, message := range messages {
		// ok: go-pieces-written-in-a-loop
		conn.Write(message)
	}
	return nil
}
