// Both ends of lab/run-go-stress and lab/run-go-attach: `stress serve` is the server that is put under `tinygram run`,
// and `stress ask ADDRESS SEED MESSAGES CONNECTIONS` asks it and compares every octet. With MESSAGES 0 it asks until its
// standard input ends. carried.go has the same messages in HTTP and NATS.
//
// A request has 16 octets: the manner of answering, how many messages are wanted, and a seed. Seed and
// number decide the size of each message and where its octets are taken from in a table that both ends
// have. A message begins with when it was written, so that the asking end knows how long it was under way.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/bits"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The manners of answering.
const (
	plain     = iota // one goroutine writes
	channel          // another goroutine writes, piece by piece
	moving           // the goroutine gives its thread away between writes
	nagle            // TCP_NODELAY is turned off and on between writes
	deadline         // every write has a deadline, and reads time out
	vectors          // writev
	file             // a head, then sendfile
	computing        // up to 4 ms of work between two writes, now and then
	executing        // now and then a child is made by vfork and waited for
	halfClose        // the asking end closes its direction first
	spliced          // through a connection of the server to itself, by splice
	manners
)

const (
	header    = 16
	stampSize = 8
	tableSize = 1 << 20
)

var table = func() []byte {
	made := make([]byte, tableSize)
	state := uint64(1)
	for at := 0; at < tableSize; at += 8 {
		state = mix(state)
		binary.LittleEndian.PutUint64(made[at:], state)
	}
	return made
}()

// mix is SplitMix64 (Steele, Lea, Flood 2014).
func mix(state uint64) uint64 {
	state += 0x9e3779b97f4a7c15
	state = (state ^ state>>30) * 0xbf58476d1ce4e5b9
	state = (state ^ state>>27) * 0x94d049bb133111eb
	return state ^ state>>31
}

// size returns how many octets follow the stamp of a message: most are small, one in 64 is up to 40,000.
func size(random uint64) int {
	if random>>56&63 == 0 {
		return int(random % 40_000)
	}
	return int(random % 200)
}

// content returns the octets of a message after its stamp.
func content(seed uint64, number int) []byte {
	random := mix(seed + uint64(number)*0xd1342543de82ef95)
	length := size(random)
	start := int(random >> 20 % uint64(tableSize-40_000))
	return table[start : start+length]
}

func now() uint64 {
	var time syscall.Timespec
	// CLOCK_MONOTONIC, which both processes share.
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&time)), 0)
	return uint64(time.Nano())
}

func main() {
	switch os.Args[1] {
	case "serve":
		serve(argument(2, "raw"))
	case "ask":
		ask(argument(6, "raw"))
	}
}

func argument(at int, otherwise string) string {
	if len(os.Args) > at {
		return os.Args[at]
	}
	return otherwise
}

// The server ---------------------------------------------------------------------------------------

func serve(kind string) {
	if rate, _ := strconv.Atoi(os.Getenv("PROFILE_HZ")); rate > 0 {
		runtime.SetCPUProfileRate(rate)
		// It complains that a rate is set already, and keeps it.
		pprof.StartCPUProfile(io.Discard)
	}
	if kind != "raw" {
		serveHTTP(kind)
	}
	name := fmt.Sprintf("%s/table-%d", os.TempDir(), os.Getpid())
	check(os.WriteFile(name, table, 0o600))
	stored, err := os.Open(name)
	check(err)
	os.Remove(name)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println(listener.Addr())
	for {
		connection, err := listener.Accept()
		check(err)
		go func() {
			defer connection.Close()
			answerAll(connection.(*net.TCPConn), stored, listener.Addr().String())
		}()
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func answerAll(connection *net.TCPConn, stored *os.File, own string) {
	request := make([]byte, header)
	for {
		if !readRequest(connection, request) {
			return
		}
		manner := int(request[0])
		number := int(binary.LittleEndian.Uint32(request[4:]))
		seed := binary.LittleEndian.Uint64(request[8:])
		if manner == spliced {
			forward(connection, request, own)
			return
		}
		if !answer(connection, stored, manner, number, seed) {
			return
		}
	}
}

// readRequest reads with deadlines that pass now and then, as servers do that look at their connections.
func readRequest(connection *net.TCPConn, request []byte) bool {
	for got := 0; got < len(request); {
		if request[0] == deadline {
			connection.SetReadDeadline(time.Now().Add(500 * time.Microsecond))
		}
		count, err := connection.Read(request[got:])
		got += count
		if timeout, is := err.(net.Error); is && timeout.Timeout() {
			connection.SetReadDeadline(time.Time{})
			continue
		}
		if err != nil {
			return false
		}
	}
	connection.SetReadDeadline(time.Time{})
	return true
}

// forward passes all that follows on to the server itself, as a plain request; io.Copy splices.
func forward(connection *net.TCPConn, request []byte, own string) {
	dialled, err := net.Dial("tcp", own)
	if err != nil {
		return
	}
	defer dialled.Close()
	request[0] = plain
	dialled.Write(request)
	back := make(chan struct{})
	go func() {
		io.Copy(connection, dialled)
		connection.CloseWrite()
		close(back)
	}()
	io.Copy(dialled, connection)
	dialled.(*net.TCPConn).CloseWrite()
	<-back
}

func answer(connection *net.TCPConn, stored *os.File, manner, number int, seed uint64) bool {
	write := func(message []byte) bool { _, err := connection.Write(message); return err == nil }
	if manner == channel {
		messages, done := make(chan []byte), make(chan bool)
		go func() {
			well := true
			for message := range messages {
				_, err := connection.Write(message)
				well = well && err == nil
			}
			done <- well
		}()
		write = func(message []byte) bool { messages <- message; return true }
		defer func() { close(messages); <-done }()
	}
	var waiting net.Buffers
	for at := 0; at < number; at++ {
		random := mix(seed ^ uint64(at)<<32)
		between(connection, manner, random)
		octets := content(seed, at)
		// A message of its own each time: the garbage collector is to have work.
		message := make([]byte, stampSize, stampSize+len(octets))
		binary.LittleEndian.PutUint64(message, now())
		switch {
		case manner == vectors:
			waiting = append(waiting, message, octets)
			if at == number-1 || random&3 == 0 {
				if _, err := waiting.WriteTo(connection); err != nil {
					return false
				}
				waiting = nil
			}
		case manner == file && len(octets) > 0:
			start := int64(uintptr(unsafe.Pointer(&octets[0])) - uintptr(unsafe.Pointer(&table[0])))
			own, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", stored.Fd()))
			if err != nil {
				return false
			}
			own.Seek(start, io.SeekStart)
			_, failed := connection.Write(message)
			_, err = io.CopyN(connection, own, int64(len(octets)))
			own.Close()
			if failed != nil || err != nil {
				return false
			}
		default:
			if !write(append(message, octets...)) {
				return false
			}
		}
	}
	return true
}

var computed atomic.Uint64

// between does what the manner does before a write.
func between(connection *net.TCPConn, manner int, random uint64) {
	switch manner {
	case moving:
		runtime.Gosched()
		if random&255 == 0 {
			time.Sleep(50 * time.Microsecond)
		}
	case nagle:
		if random&7 == 0 {
			connection.SetNoDelay(random&8 == 0)
		}
	case deadline:
		connection.SetWriteDeadline(time.Now().Add(10 * time.Second))
	case computing:
		if random&1023 == 0 {
			for end := time.Now().Add(time.Duration(random>>10&0xfff) * time.Microsecond); time.Now().Before(end); {
				computed.Add(1)
			}
		}
	case executing:
		if random&0x1fff == 0 {
			exec.Command("/bin/true").Run()
		}
	}
}

// The asking end -----------------------------------------------------------------------------------

// result is what is written in the end. Delays are from a message's write to its being read whole.
type result struct {
	Messages uint64   `json:"messages"`
	Octets   uint64   `json:"octets"`
	Answers  uint64   `json:"answers"`
	Wrong    []string `json:"wrong"`
	// Messages whose delay has this many significant bits, in microseconds.
	Delays [32]uint64 `json:"delays_log2_us"`
	MaxUs  uint64     `json:"longest_delay_us"`
}

type tally struct {
	sync.Mutex
	result
	left atomic.Int64
}

func ask(kind string) {
	talk := conversations[kind]
	address := os.Args[2]
	seed, _ := strconv.ParseUint(os.Args[3], 10, 64)
	messages, _ := strconv.ParseInt(os.Args[4], 10, 64)
	connections, _ := strconv.Atoi(os.Args[5])
	sum := &tally{}
	sum.Wrong = []string{}
	sum.left.Store(messages)
	if messages == 0 {
		sum.left.Store(1 << 62)
		go func() {
			io.Copy(io.Discard, os.Stdin)
			sum.left.Store(0)
		}()
	}
	var all sync.WaitGroup
	for lane := 0; lane < connections; lane++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for at := uint64(0); sum.left.Load() > 0; at++ {
				random := mix(seed + uint64(lane)<<40 + at)
				if err := talk(address, random, sum); err != nil {
					sum.Lock()
					sum.Wrong = append(sum.Wrong, fmt.Sprintf("seed %d lane %d conversation %d: %v", seed, lane, at, err))
					sum.left.Store(0)
					sum.Unlock()
				}
			}
		}()
	}
	all.Wait()
	json.NewEncoder(os.Stdout).Encode(sum.result)
}

// converse makes one connection, some hundred requests on it, and compares the answers.
func converse(address string, random uint64, sum *tally) error {
	manner := int(random % manners)
	dialled, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer dialled.Close()
	dialled.SetDeadline(time.Now().Add(2 * time.Minute))
	reader := bufio.NewReaderSize(dialled, 64<<10)
	requests := 200
	if manner == halfClose || manner == spliced {
		requests = 1
	}
	at := 0
	for ; at < requests && sum.left.Load() > 0; at++ {
		seed := mix(random + uint64(at))
		number := 1 + int(seed>>40%16)
		request := make([]byte, header)
		request[0] = byte(manner)
		binary.LittleEndian.PutUint32(request[4:], uint32(number))
		binary.LittleEndian.PutUint64(request[8:], seed)
		if _, err := dialled.Write(request); err != nil {
			return err
		}
		if manner == halfClose || manner == spliced {
			dialled.(*net.TCPConn).CloseWrite()
		}
		if err := compare(reader, seed, number, sum, bare{}); err != nil {
			return fmt.Errorf("manner %d, request %d: %w", manner, at, err)
		}
	}
	// Nothing may have been asked: then all that was wanted had come meanwhile, and nobody ends the connection.
	if requests == 1 && at == 1 {
		if more, err := reader.ReadByte(); err != io.EOF {
			return fmt.Errorf("manner %d: %x, %v after the last octet", manner, more, err)
		}
	}
	return nil
}

// framing reads what a protocol has around a message.
type framing interface {
	before(reader *bufio.Reader, length int) error
	after(reader *bufio.Reader) error
}

// bare is a stream of messages and nothing else.
type bare struct{}

func (bare) before(*bufio.Reader, int) error { return nil }
func (bare) after(*bufio.Reader) error       { return nil }

func compare(reader *bufio.Reader, seed uint64, number int, sum *tally, frame framing) error {
	var octets uint64
	delays := make([]uint64, 0, 16)
	for at := 0; at < number; at++ {
		expected := content(seed, at)
		var stamp [stampSize]byte
		if err := frame.before(reader, stampSize+len(expected)); err != nil {
			return fmt.Errorf("before message %d of %d: %w", at, number, err)
		}
		if _, err := io.ReadFull(reader, stamp[:]); err != nil {
			return fmt.Errorf("message %d of %d: %w", at, number, err)
		}
		for left := expected; len(left) > 0; {
			there, err := reader.Peek(min(len(left), max(1, reader.Buffered())))
			if err != nil {
				return fmt.Errorf("message %d of %d: %w", at, number, err)
			}
			if !bytes.Equal(there, left[:len(there)]) {
				return fmt.Errorf("message %d of %d differs at octet %d of %d", at, number, len(expected)-len(left), len(expected))
			}
			reader.Discard(len(there))
			left = left[len(there):]
		}
		if err := frame.after(reader); err != nil {
			return fmt.Errorf("after message %d of %d: %w", at, number, err)
		}
		written, read := binary.LittleEndian.Uint64(stamp[:]), now()
		if written > read || read-written > uint64(time.Hour) {
			return fmt.Errorf("message %d of %d: stamp %d read at %d", at, number, written, read)
		}
		delays = append(delays, (read-written)/1000)
		octets += uint64(stampSize + len(expected))
	}
	sum.Lock()
	defer sum.Unlock()
	sum.Messages += uint64(number)
	sum.Octets += octets
	sum.Answers++
	sum.left.Add(int64(-number))
	for _, us := range delays {
		sum.Delays[min(31, bits.Len64(us))]++
		sum.MaxUs = max(sum.MaxUs, us)
	}
	return nil
}
