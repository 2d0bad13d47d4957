// Servers of Go's frameworks for lab/run-go, each with their own way to write: `frameworks KIND ADDRESS`.
//
// gin and h2 (net/http, HTTP/2 over TLS) answer in ten flushed pieces of 60 octets; fiber and fasthttp in one write;
// grpc streams ten messages.
package main

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

const pieces = 10

var piece = []byte(strings.Repeat("0123456789", 6))

func main() {
	address := os.Args[2]
	switch os.Args[1] {
	case "gin":
		serveGin(address)
	case "fiber":
		serveFiber(address)
	case "h2":
		serveH2(address)
	case "fasthttp":
		serveFasthttp(address)
	case "grpc":
		serveGRPC(address)
	case "grpc-ask", "h2-ask":
		ask(os.Args[1], address, os.Args[3:])
	}
}

func serveGin(address string) {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.GET("/", func(context *gin.Context) {
		for range pieces {
			context.Writer.Write(piece)
			context.Writer.Flush()
		}
	})
	check(engine.Run(address))
}

func serveFiber(address string) {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Get("/", func(context *fiber.Ctx) error {
		return context.Send(bytes.Repeat(piece, pieces))
	})
	check(app.Listen(address))
}

func serveFasthttp(address string) {
	listener, err := net.Listen("tcp4", address)
	check(err)
	check(fasthttp.Serve(listener, func(context *fasthttp.RequestCtx) {
		for range pieces {
			context.Write(piece)
		}
	}))
}

func serveH2(address string) {
	listener, err := net.Listen("tcp4", address)
	check(err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		for range pieces {
			answer.Write(piece)
			answer.(http.Flusher).Flush()
		}
	}))
	server.Listener.Close()
	server.Listener, server.EnableHTTP2 = listener, true
	server.StartTLS()
	select {}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
