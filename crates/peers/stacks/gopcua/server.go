package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gopcua/opcua/id"
	"github.com/gopcua/opcua/server"
	"github.com/gopcua/opcua/ua"
	"github.com/gopcua/opcua/uasc"
)

// variable is a bench variable. The stack keeps what is written by replacing the function that
// reads it, unguarded; so values live here, and Write has a handler of ours.
type variable struct {
	id    *ua.NodeID
	key   string // of the stack's table of monitored items
	value atomic.Pointer[ua.DataValue]
}

func (v *variable) set(value any) {
	now := time.Now()
	v.value.Store(&ua.DataValue{
		EncodingMask:    ua.DataValueValue | ua.DataValueSourceTimestamp | ua.DataValueServerTimestamp,
		Value:           ua.MustVariant(value),
		SourceTimestamp: now,
		ServerTimestamp: now,
	})
}

type bench struct {
	server    *server.Server
	space     *server.NodeNameSpace
	folder    *server.Node
	variables map[uint32]*variable
}

func serve(args []string) {
	flags := flag.NewFlagSet("server", flag.ExitOnError)
	port := flags.Int("port", 4840, "port on 127.0.0.1")
	pki := flags.String("pki", "pki", "folder of certificates")
	update := flags.Int("update-us", 0, "microseconds between new values of the scalars, 0: constant")
	strict := flags.Bool("strict", false, "refuse unknown client certificates")
	flags.Parse(args)
	if *strict {
		fail("gopcua 0.8.0 looks at no client certificate: --strict cannot be had")
	}
	cert, key, err := applicationCertificate(*pki, "server")
	if err != nil {
		fail("certificate:", err)
	}
	// No secured policy is announced, because in 0.8.0 none works: the channel starts in mode None, so
	// the first OPN is not decrypted, cannot be decoded, and is neither answered nor is the connection
	// closed. A user name needs a secured policy in this stack, and would not be looked at anyway:
	// ActivateSession lets every token in.
	options := []server.Option{
		server.EndPoint("127.0.0.1", *port),
		server.Certificate(cert),
		server.PrivateKey(key),
		server.ServerName("bench"),
		server.ProductName("gopcua"),
		server.SoftwareVersion(version),
		server.EnableSecurity("None", ua.MessageSecurityModeNone),
		server.EnableAuthMode(ua.UserTokenTypeAnonymous),
	}
	b := &bench{server: server.New(options...), variables: map[uint32]*variable{}}
	b.fill()
	// Handlers registered before the start win over the stack's own.
	b.server.RegisterHandler(id.WriteRequest_Encoding_DefaultBinary, b.write)
	b.server.RegisterHandler(id.CallRequest_Encoding_DefaultBinary, b.call)
	if err := b.server.Start(context.Background()); err != nil {
		fail("start:", err)
	}
	go b.count(3030, 100*time.Millisecond)
	go b.count(3031, time.Second)
	if *update > 0 {
		go b.renew(time.Duration(*update) * time.Microsecond)
	}
	fmt.Printf("READY opc.tcp://127.0.0.1:%d\n", *port)

	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		io.Copy(io.Discard, os.Stdin)
		end <- syscall.SIGTERM
	}()
	<-end
}

// fill makes the address space. Responses are never split into chunks, so whatever exceeds the
// client's receive buffer (i=3013 and i=3014 with the usual 65,535 bytes) arrives as one oversized
// chunk, against Part 6, 7.1.2.4.
// The stack puts a namespace's objects into a folder i=85 of that
// namespace; urn:bench has index 1, which Part 5, 6.3.2 reserves for the server's own URI.
func (b *bench) fill() {
	b.space = server.NewNodeNameSpace(b.server, namespaceURI)
	b.folder = b.space.Objects()
	root, _ := b.server.Namespace(0)
	root.Objects().AddRef(b.folder, id.Organizes, true)

	for i := uint32(1000); i < 1500; i++ {
		b.add(i, id.Double, -1, float64(i))
	}
	for i := uint32(1500); i < 2000; i++ {
		b.add(i, id.Int32, -1, int32(i))
	}
	for k, length := range []int{10, 10_000, 20_000, 65_535, 102_400} {
		bytes := make(ua.ByteArray, length) // a []byte would become a ByteString
		for j := range bytes {
			bytes[j] = byte(j)
		}
		b.add(uint32(3010+k), id.Byte, 1, bytes)
	}
	words := make([]int16, 512)
	for j := range words {
		words[j] = int16(j)
	}
	b.add(3020, id.Int16, 1, words)
	b.add(3030, id.UInt32, -1, uint32(0))
	b.add(3031, id.UInt32, -1, uint32(0))

	object := b.plain(4001, ua.NodeClassObject, "methods")
	method := b.plain(4000, ua.NodeClassMethod, "echo")
	method.SetAttribute(ua.AttributeIDExecutable, server.DataValueFromValue(true))
	method.SetAttribute(ua.AttributeIDUserExecutable, server.DataValueFromValue(true))
	b.space.AddNode(object)
	b.space.AddNode(method)
	b.folder.AddRef(object, id.Organizes, true)
	object.AddRef(method, id.HasComponent, true)
	for _, argument := range []string{"InputArguments", "OutputArguments"} {
		b.argument(method, argument)
	}
}

// plain makes a node without a value; the stack's NewFolderNode panics.
func (b *bench) plain(number uint32, class ua.NodeClass, name string) *server.Node {
	return server.NewNode(ua.NewNumericNodeID(b.space.ID(), number), server.Attributes{
		ua.AttributeIDNodeClass:   server.DataValueFromValue(uint32(class)),
		ua.AttributeIDBrowseName:  server.DataValueFromValue(&ua.QualifiedName{NamespaceIndex: b.space.ID(), Name: name}),
		ua.AttributeIDDisplayName: server.DataValueFromValue(ua.NewLocalizedText(name)),
	}, nil, nil)
}

// argument adds the property that describes the one Double that goes in and comes out.
func (b *bench) argument(method *server.Node, name string) {
	number := map[string]uint32{"InputArguments": 4002, "OutputArguments": 4003}[name]
	list := []*ua.ExtensionObject{ua.NewExtensionObject(&ua.Argument{
		Name:            "value",
		DataType:        ua.NewNumericNodeID(0, id.Double),
		ValueRank:       -1,
		ArrayDimensions: []uint32{},
		Description:     ua.NewLocalizedText(""),
	})}
	node := server.NewVariableNode(ua.NewNumericNodeID(b.space.ID(), number), name, list)
	node.SetAttribute(ua.AttributeIDDataType, server.DataValueFromValue(ua.NewNumericExpandedNodeID(0, id.Argument)))
	b.space.AddNode(node)
	method.AddRef(node, id.HasProperty, true)
}

func (b *bench) add(number, dataType uint32, rank int32, value any) {
	v := &variable{id: ua.NewNumericNodeID(b.space.ID(), number)}
	v.key = v.id.String()
	v.set(value)
	b.variables[number] = v
	node := server.NewVariableNode(v.id, fmt.Sprintf("v%d", number), func() *ua.DataValue { return v.value.Load() })
	node.SetAttribute(ua.AttributeIDAccessLevel, server.DataValueFromValue(byte(3)))
	node.SetAttribute(ua.AttributeIDUserAccessLevel, server.DataValueFromValue(byte(3)))
	node.SetAttribute(ua.AttributeIDValueRank, server.DataValueFromValue(rank))
	// The stack insists on an ExpandedNodeId here (it panics on the NodeId of Part 3, 5.6.2) and shows
	// the same id as the type definition when browsed.
	node.SetAttribute(ua.AttributeIDDataType, server.DataValueFromValue(ua.NewNumericExpandedNodeID(0, dataType)))
	b.space.AddNode(node)
	b.folder.AddRef(node, id.Organizes, true)
}

// notify is the stack's ChangeNotification without its trap: that one waits for room in the queue
// of a subscription that may have ended, holding the lock which everybody else then waits for.
func (b *bench) notify(v *variable) {
	items := b.server.MonitoredItemService
	items.Mu.Lock()
	defer items.Mu.Unlock()
	for _, item := range items.Nodes[v.key] {
		change := &ua.MonitoredItemNotification{
			ClientHandle: item.Req.RequestedParameters.ClientHandle,
			Value:        b.space.Attribute(v.id, item.Req.ItemToMonitor.AttributeID),
		}
		select {
		case item.Sub.NotifyChannel <- change:
			continue
		default:
		}
		select {
		case item.Sub.NotifyChannel <- change:
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (b *bench) count(number uint32, every time.Duration) {
	n := uint32(0)
	for range time.Tick(every) {
		n++
		b.variables[number].set(n)
		b.notify(b.variables[number])
	}
}

func (b *bench) renew(every time.Duration) {
	n := int32(0)
	for range time.Tick(every) {
		n++
		for i := uint32(1000); i < 2000; i++ {
			if i < 1500 {
				b.variables[i].set(float64(i) + float64(n))
			} else {
				b.variables[i].set(int32(i) + n)
			}
			b.notify(b.variables[i])
		}
	}
}

func (b *bench) write(_ *uasc.SecureChannel, r ua.Request, _ uint32) (ua.Response, error) {
	req := r.(*ua.WriteRequest)
	results := make([]ua.StatusCode, len(req.NodesToWrite))
	for i, w := range req.NodesToWrite {
		results[i] = b.writeOne(w)
	}
	return &ua.WriteResponse{ResponseHeader: header(req.RequestHeader), Results: results}, nil
}

func (b *bench) writeOne(w *ua.WriteValue) ua.StatusCode {
	v := b.variables[w.NodeID.IntID()]
	switch {
	case v == nil || w.NodeID.Namespace() != b.space.ID():
		return ua.StatusBadNodeIDUnknown
	case w.AttributeID != ua.AttributeIDValue:
		return ua.StatusBadNotWritable
	case w.Value == nil || w.Value.Value == nil || w.Value.Value.Type() != v.value.Load().Value.Type():
		return ua.StatusBadTypeMismatch
	}
	v.set(w.Value.Value.Value())
	b.notify(v)
	return ua.StatusOK
}

// call stands in for the stack's method service, which only says BadServiceUnsupported.
func (b *bench) call(_ *uasc.SecureChannel, r ua.Request, _ uint32) (ua.Response, error) {
	req := r.(*ua.CallRequest)
	results := make([]*ua.CallMethodResult, len(req.MethodsToCall))
	for i, m := range req.MethodsToCall {
		results[i] = b.echo(m)
	}
	return &ua.CallResponse{ResponseHeader: header(req.RequestHeader), Results: results}, nil
}

func (b *bench) echo(m *ua.CallMethodRequest) *ua.CallMethodResult {
	result := &ua.CallMethodResult{}
	switch {
	case m.ObjectID.Namespace() != b.space.ID() || m.ObjectID.IntID() != 4001:
		result.StatusCode = ua.StatusBadNodeIDUnknown
	case m.MethodID.Namespace() != b.space.ID() || m.MethodID.IntID() != 4000:
		result.StatusCode = ua.StatusBadMethodInvalid
	case len(m.InputArguments) < 1:
		result.StatusCode = ua.StatusBadArgumentsMissing
	case len(m.InputArguments) > 1:
		result.StatusCode = ua.StatusBadTooManyArguments
	case m.InputArguments[0].Type() != ua.TypeIDDouble:
		result.StatusCode = ua.StatusBadInvalidArgument
		result.InputArgumentResults = []ua.StatusCode{ua.StatusBadTypeMismatch}
	default:
		result.InputArgumentResults = []ua.StatusCode{ua.StatusOK}
		result.OutputArguments = m.InputArguments
	}
	return result
}

func header(request *ua.RequestHeader) *ua.ResponseHeader {
	return &ua.ResponseHeader{
		Timestamp:          time.Now(),
		RequestHandle:      request.RequestHandle,
		ServiceDiagnostics: &ua.DiagnosticInfo{},
		StringTable:        []string{},
		AdditionalHeader:   ua.NewExtensionObject(nil),
	}
}
