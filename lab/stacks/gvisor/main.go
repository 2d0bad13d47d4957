// gVisor's end: `gvisor NAME wire|napi usual|best` on the TUN device NAME, which is there already.
package main

import (
	"encoding/binary"
	"io"
	"log"
	"net"
	"os"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/link/tun"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

const nic = 1

func main() {
	name, napi, best := os.Args[1], os.Args[2] == "napi", os.Args[3] == "best"
	fd := open(name, napi)
	options := fdbased.Options{FDs: []int{fd}, MTU: 1500}
	if best {
		// What a TUN device lets it have.
		options.PacketDispatchMode = fdbased.Readv
		options.RXChecksumOffload = true
		options.GRO = true
	}
	link, err := fdbased.New(&options)
	check(err)
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	if best {
		sack, size := tcpip.TCPSACKEnabled(true), tcpip.TCPReceiveBufferSizeRangeOption{Min: 4096, Default: 1 << 20, Max: 8 << 20}
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &sack)
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &size)
		sending := tcpip.TCPSendBufferSizeRangeOption{Min: 4096, Default: 1 << 20, Max: 8 << 20}
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &sending)
	}
	if err := s.CreateNIC(nic, link); err != nil {
		log.Fatal(err)
	}
	address := tcpip.AddrFrom4([4]byte{10, 99, 0, 2})
	protocol := tcpip.ProtocolAddress{
		Protocol:          ipv4.ProtocolNumber,
		AddressWithPrefix: address.WithPrefix(),
	}
	if err := s.AddProtocolAddress(nic, protocol, stack.AddressProperties{}); err != nil {
		log.Fatal(err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})
	for port, serve := range map[uint16]func(net.Conn){5001: sink, 5002: source, 5003: answer} {
		listener, err := gonet.ListenTCP(s, tcpip.FullAddress{NIC: nic, Addr: address, Port: port}, ipv4.ProtocolNumber)
		check(err)
		go func() {
			for {
				conn, err := listener.Accept()
				check(err)
				go serve(conn)
			}
		}()
	}
	os.Stderr.WriteString("ready\n")
	select {}
}

// open gives the device, with IFF_NAPI if the kernel is to take in what we write by a thread of its own.
func open(name string, napi bool) int {
	if !napi {
		fd, err := tun.Open(name)
		check(err)
		return fd
	}
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR, 0)
	check(err)
	request, err := unix.NewIfreq(name)
	check(err)
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_NAPI)
	check(unix.IoctlIfreq(fd, unix.TUNSETIFF, request))
	return fd
}

func sink(conn net.Conn) {
	buffer := make([]byte, 256*1024)
	for {
		if _, err := conn.Read(buffer); err != nil {
			conn.Close()
			return
		}
	}
}

func source(conn net.Conn) {
	buffer := make([]byte, 256*1024)
	for {
		if _, err := conn.Write(buffer); err != nil {
			conn.Close()
			return
		}
	}
}

func answer(conn net.Conn) {
	defer conn.Close()
	var octets uint32
	if binary.Read(conn, binary.BigEndian, &octets) != nil {
		return
	}
	buffer := make([]byte, octets)
	for {
		if _, err := io.ReadFull(conn, buffer); err != nil {
			return
		}
		if _, err := conn.Write(buffer); err != nil {
			return
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
