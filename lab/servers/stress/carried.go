// The same messages in other protocols: chunked HTTP/1.1, HTTP/2 over TLS, and NATS.
package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// conversations are the asking ends, by the last word of `stress ask`.
var conversations = map[string]func(address string, random uint64, sum *tally) error{
	"raw": converse,
	"http": func(address string, random uint64, sum *tally) error {
		return converseHTTP("http", address, random, sum)
	},
	"h2": func(address string, random uint64, sum *tally) error {
		return converseHTTP("https", address, random, sum)
	},
	"nats": converseNATS,
}

// serveHTTP answers /?number=N&seed=S with as many messages, each flushed: by HTTP/1.1, or (`tls`) by HTTP/2.
func serveHTTP(kind string) {
	handler := http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		number, _ := strconv.Atoi(request.FormValue("number"))
		seed, _ := strconv.ParseUint(request.FormValue("seed"), 10, 64)
		manner := []int{plain, moving, computing, executing}[seed%4]
		for at := 0; at < number; at++ {
			between(nil, manner, mix(seed^uint64(at)<<32))
			octets := content(seed, at)
			message := make([]byte, stampSize, stampSize+len(octets))
			binary.LittleEndian.PutUint64(message, now())
			if _, err := answer.Write(append(message, octets...)); err != nil {
				return
			}
			answer.(http.Flusher).Flush()
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println(listener.Addr())
	server := http.Server{Handler: handler}
	if kind == "tls" {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate()}}
		panic(server.ServeTLS(listener, "", ""))
	}
	panic(server.Serve(listener))
}

func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	signed, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	check(err)
	return tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}
}

// converseHTTP makes one connection and a hundred requests on it, over HTTP/2 four at once.
func converseHTTP(scheme, address string, random uint64, sum *tally) error {
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2: true,
		// One that answers in clear is asked by HTTP/1.1, whatever it offers.
		DisableCompression: true,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 2 * time.Minute}
	streams := 1
	if scheme == "https" {
		streams = 4
	}
	var all sync.WaitGroup
	failed := make([]error, streams)
	for stream := range failed {
		all.Add(1)
		go func() {
			defer all.Done()
			for at := 0; at < 100/streams && sum.left.Load() > 0 && failed[stream] == nil; at++ {
				seed := mix(random + uint64(stream)<<32 + uint64(at))
				failed[stream] = request(client, scheme, address, seed, sum)
			}
		}()
	}
	all.Wait()
	return errors.Join(failed...)
}

func request(client *http.Client, scheme, address string, seed uint64, sum *tally) error {
	number := 1 + int(seed>>40%16)
	answer, err := client.Get(fmt.Sprintf("%s://%s/?number=%d&seed=%d", scheme, address, number, seed))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if scheme == "https" && answer.ProtoMajor != 2 {
		return fmt.Errorf("answered by %s", answer.Proto)
	}
	reader := bufio.NewReaderSize(answer.Body, 64<<10)
	if err := compare(reader, seed, number, sum, bare{}); err != nil {
		return fmt.Errorf("status %d: %w", answer.StatusCode, err)
	}
	if more, err := reader.ReadByte(); err != io.EOF {
		return fmt.Errorf("%x, %v after the last octet", more, err)
	}
	return nil
}

// delivered is what a NATS server puts around a message: MSG SUBJECT SID LENGTH, and a line's end.
type delivered struct {
	subject    string
	connection net.Conn
}

func (frame delivered) before(reader *bufio.Reader, length int) error {
	expected := fmt.Sprintf("MSG %s 1 %d\r\n", frame.subject, length)
	for {
		line, err := reader.ReadString('\n')
		switch {
		case err != nil:
			return err
		case line == expected:
			return nil
		case line == "PING\r\n":
			if _, err := frame.connection.Write([]byte("PONG\r\n")); err != nil {
				return err
			}
		case !strings.HasPrefix(line, "INFO "):
			return fmt.Errorf("%q instead of %q", line, expected)
		}
	}
}

func (delivered) after(reader *bufio.Reader) error {
	end := make([]byte, 2)
	if _, err := io.ReadFull(reader, end); err != nil || string(end) != "\r\n" {
		return fmt.Errorf("%q, %v at its end", end, err)
	}
	return nil
}

// converseNATS subscribes to a subject of its own and publishes to it.
func converseNATS(address string, random uint64, sum *tally) error {
	dialled, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer dialled.Close()
	dialled.SetDeadline(time.Now().Add(2 * time.Minute))
	frame := delivered{fmt.Sprintf("s%x", random), dialled}
	reader := bufio.NewReaderSize(dialled, 64<<10)
	if _, err := fmt.Fprintf(dialled, "CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB %s 1\r\n", frame.subject); err != nil {
		return err
	}
	for at := 0; at < 200 && sum.left.Load() > 0; at++ {
		seed := mix(random + uint64(at))
		number := 1 + int(seed>>40%16)
		var published bytes.Buffer
		for at := 0; at < number; at++ {
			octets := content(seed, at)
			fmt.Fprintf(&published, "PUB %s %d\r\n", frame.subject, stampSize+len(octets))
			binary.Write(&published, binary.LittleEndian, now())
			published.Write(octets)
			published.WriteString("\r\n")
		}
		if _, err := dialled.Write(published.Bytes()); err != nil {
			return err
		}
		if err := compare(reader, seed, number, sum, frame); err != nil {
			return err
		}
	}
	return nil
}
