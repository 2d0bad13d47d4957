// gRPC, and the asking ends of what has no fixed octets: `frameworks grpc-ask ADDRESS CONNECTIONS SECONDS` and
// `frameworks h2-ask URL CONNECTIONS SECONDS`. They compare what they receive and write one line of JSON.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
)

// raw leaves messages as they are, so that no code has to be generated.
type raw struct{}

func (raw) Marshal(value any) ([]byte, error) { return *value.(*[]byte), nil }
func (raw) Unmarshal(data []byte, value any) error {
	*value.(*[]byte) = bytes.Clone(data)
	return nil
}
func (raw) Name() string { return "raw" }

var description = grpc.ServiceDesc{
	ServiceName: "Echo",
	HandlerType: (*any)(nil),
	Streams: []grpc.StreamDesc{{
		StreamName:    "Ten",
		ServerStreams: true,
		Handler: func(_ any, stream grpc.ServerStream) error {
			var message []byte
			if err := stream.RecvMsg(&message); err != nil {
				return err
			}
			for range pieces {
				if err := stream.SendMsg(&message); err != nil {
					return err
				}
			}
			return nil
		},
	}},
	Methods: []grpc.MethodDesc{{
		MethodName: "One",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var message []byte
			err := decode(&message)
			return &message, err
		},
	}},
}

func serveGRPC(address string) {
	encoding.RegisterCodec(raw{})
	listener, err := net.Listen("tcp4", address)
	check(err)
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}))
	server.RegisterService(&description, nil)
	check(server.Serve(listener))
}

type seen struct {
	Answers   int      `json:"answers"`
	PerSecond float64  `json:"per_second"`
	P50Us     float64  `json:"p50_us"`
	P99Us     float64  `json:"p99_us"`
	Octets    int      `json:"octets"`
	Wrong     []string `json:"wrong"`
}

// ask asks over so many connections for so long, one request of each at a time.
func ask(kind, address string, words []string) {
	connections, _ := strconv.Atoi(words[0])
	seconds, _ := strconv.ParseFloat(words[1], 64)
	all := seen{Wrong: []string{}}
	var latencies []float64
	var lock sync.Mutex
	var lanes sync.WaitGroup
	began := time.Now()
	end := began.Add(time.Duration(seconds * float64(time.Second)))
	for lane := range connections {
		lanes.Add(1)
		go func() {
			defer lanes.Done()
			one := asker(kind, address)
			for at := 0; time.Now().Before(end); at++ {
				from := time.Now()
				octets, err := one(fmt.Appendf(nil, "%d.%d %s", lane, at, piece))
				took := time.Since(from)
				lock.Lock()
				all.Answers++
				all.Octets += octets
				latencies = append(latencies, float64(took.Nanoseconds())/1e3)
				if err != nil {
					all.Wrong = append(all.Wrong, err.Error())
					end = began
				}
				lock.Unlock()
			}
		}()
	}
	lanes.Wait()
	all.PerSecond = float64(all.Answers) / time.Since(began).Seconds()
	slices.Sort(latencies)
	all.P50Us, all.P99Us = latencies[len(latencies)/2], latencies[len(latencies)*99/100]
	json.NewEncoder(os.Stdout).Encode(all)
}

// asker makes a connection and returns what asks once over it, and compares: the octets of the answer.
func asker(kind, address string) func(message []byte) (int, error) {
	if kind == "h2-ask" {
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableCompression: true}
		client := &http.Client{Transport: transport}
		var first []byte
		return func([]byte) (int, error) {
			answer, err := client.Get(address)
			if err != nil {
				return 0, err
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if first == nil {
				first = body
			}
			if err == nil && (!bytes.Equal(body, first) || answer.ProtoMajor != 2) {
				err = fmt.Errorf("%s: %d octets are not the first answer's %d", answer.Proto, len(body), len(first))
			}
			return len(body), err
		}
	}
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	check(err)
	return func(message []byte) (int, error) {
		stream, err := connection.NewStream(context.Background(), &description.Streams[0], "/Echo/Ten")
		if err != nil {
			return 0, err
		}
		if err := errors.Join(stream.SendMsg(&message), stream.CloseSend()); err != nil {
			return 0, err
		}
		for range pieces {
			var back []byte
			if err := stream.RecvMsg(&back); err != nil || !bytes.Equal(back, message) {
				return 0, fmt.Errorf("%q, %v instead of %q", back, err, message)
			}
		}
		var more []byte
		if err := stream.RecvMsg(&more); err != io.EOF {
			return 0, fmt.Errorf("%q, %v after the last message", more, err)
		}
		return pieces * len(message), nil
	}
}
