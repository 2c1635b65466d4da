package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gopcua/opcua"
	"github.com/gopcua/opcua/id"
	"github.com/gopcua/opcua/ua"
)

type step map[string]any

type client struct {
	*opcua.Client
	ctx   context.Context
	index uint16 // of urn:bench on this server
}

func runClient(url string, args []string) int {
	flags := flag.NewFlagSet("client", flag.ExitOnError)
	policy := flags.String("policy", "None", "security policy")
	mode := flags.String("mode", "None", "security mode")
	user := flags.String("user", "", "user name")
	password := flags.String("password", "", "password")
	pki := flags.String("pki", "pki", "folder of certificates")
	do := flags.String("do", "connect,read,write,browse,call,subscribe", "steps")
	flags.Parse(args)

	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	steps, good := map[string]step{}, true
	var failure any
	note := func(name string, s step, err error) {
		if err != nil {
			s, good = step{"ok": false, "error": text(err)}, false
		} else {
			s["ok"] = true
		}
		steps[name] = s
	}

	start := time.Now()
	c, err := connect(ctx, url, *policy, *mode, *user, *password, *pki)
	note("connect", step{"ms": float64(time.Since(start).Microseconds()) / 1000}, err)
	if err != nil {
		failure = text(err)
	} else {
		defer c.Close(ctx)
		work := map[string]func() (step, error){
			"read": c.read, "write": c.write, "browse": c.browse, "call": c.call, "subscribe": c.subscribe,
		}
		for _, name := range strings.Split(*do, ",") {
			if f := work[name]; f != nil {
				s, err := f()
				note(name, s, err)
			}
		}
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"stack": "gopcua", "version": version, "steps": steps, "error": failure,
	})
	if good {
		return 0
	}
	return 1
}

// text gives an error with its status code, which the stack wraps or prints as words only.
func text(err error) string {
	var code ua.StatusCode
	if errors.As(err, &code) {
		return fmt.Sprintf("0x%08X %s", uint32(code), err)
	}
	return err.Error()
}

func connect(ctx context.Context, url, policy, mode, user, password, pki string) (*client, error) {
	cert, key, err := applicationCertificate(pki, "client")
	if err != nil {
		return nil, err
	}
	endpoints, err := opcua.GetEndpoints(ctx, url)
	if err != nil {
		return nil, err
	}
	var endpoint *ua.EndpointDescription
	for _, e := range endpoints {
		if e.SecurityPolicyURI == ua.FormatSecurityPolicyURI(policy) && e.SecurityMode == ua.MessageSecurityModeFromString(mode) {
			endpoint = e
			break
		}
	}
	if endpoint == nil {
		return nil, fmt.Errorf("the server has no endpoint %s %s", policy, mode)
	}
	options := []opcua.Option{opcua.AutoReconnect(false), opcua.RequestTimeout(5 * time.Second)}
	if policy != "None" {
		options = append(options, opcua.Certificate(cert), opcua.PrivateKey(key))
	}
	// Security comes last: it fills the policy id into the token that is there already.
	if user != "" {
		options = append(options, opcua.AuthUsername(user, password), opcua.SecurityFromEndpoint(endpoint, ua.UserTokenTypeUserName))
	} else {
		options = append(options, opcua.AuthAnonymous(), opcua.SecurityFromEndpoint(endpoint, ua.UserTokenTypeAnonymous))
	}
	c, err := opcua.NewClient(url, options...)
	if err != nil {
		return nil, err
	}
	if err := c.Connect(ctx); err != nil {
		return nil, err
	}
	index, err := c.FindNamespace(ctx, namespaceURI)
	return &client{c, ctx, index}, err
}

func (c *client) node(number uint32) *ua.NodeID { return ua.NewNumericNodeID(c.index, number) }

func (c *client) values(numbers ...uint32) ([]any, error) {
	req := &ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnBoth}
	for _, n := range numbers {
		req.NodesToRead = append(req.NodesToRead, &ua.ReadValueID{NodeID: c.node(n), AttributeID: ua.AttributeIDValue})
	}
	res, err := c.Read(c.ctx, req)
	if err != nil {
		return nil, err
	}
	if len(res.Results) != len(numbers) {
		return nil, fmt.Errorf("%d results to %d nodes", len(res.Results), len(numbers))
	}
	var values []any
	for i, r := range res.Results {
		if r.Status != ua.StatusOK {
			return nil, fmt.Errorf("i=%d: %s", numbers[i], text(r.Status))
		}
		values = append(values, r.Value.Value())
	}
	return values, nil
}

func (c *client) read() (step, error) {
	scalars, arrays := map[string]any{}, map[string][2]int{}
	numbers := []uint32{1000, 1001, 1499, 1500, 1999, 3030, 3010, 3011, 3012, 3013, 3014, 3020}
	values, err := c.values(numbers...)
	for i, v := range values {
		name, sum := fmt.Sprintf("i=%d", numbers[i]), 0
		switch list := v.(type) {
		case []byte:
			for _, b := range list {
				sum += int(b)
			}
			arrays[name] = [2]int{len(list), sum & 0xffff}
		case ua.ByteArray:
			for _, b := range list {
				sum += int(b)
			}
			arrays[name] = [2]int{len(list), sum & 0xffff}
		case []int16:
			for _, w := range list {
				sum += int(w)
			}
			arrays[name] = [2]int{len(list), sum & 0xffff}
		default:
			scalars[name] = v
		}
	}
	return step{"values": scalars, "arrays": arrays}, err
}

func (c *client) put(number uint32, value any) error {
	// The mask matters: a DataValue without it is encoded as empty.
	data := &ua.DataValue{EncodingMask: ua.DataValueValue, Value: ua.MustVariant(value)}
	res, err := c.Write(c.ctx, &ua.WriteRequest{NodesToWrite: []*ua.WriteValue{
		{NodeID: c.node(number), AttributeID: ua.AttributeIDValue, Value: data},
	}})
	if err == nil && res.Results[0] != ua.StatusOK {
		err = res.Results[0]
	}
	return err
}

func (c *client) write() (step, error) {
	before, err := c.values(1002)
	if err != nil {
		return nil, err
	}
	if err := c.put(1002, 12.5); err != nil {
		return nil, err
	}
	after, err := c.values(1002)
	if err != nil {
		return nil, err
	}
	if after[0] != 12.5 {
		return nil, fmt.Errorf("wrote 12.5, read %v", after[0])
	}
	return step{}, c.put(1002, before[0])
}

// references browses forward, all of it: a server may answer in parts (Part 4, 5.9.2).
func (c *client) references(node *ua.NodeID) ([]*ua.ReferenceDescription, error) {
	return c.Node(node).References(c.ctx, id.HierarchicalReferences, ua.BrowseDirectionForward, ua.NodeClassAll, true)
}

func (c *client) browse() (step, error) {
	children, err := c.references(ua.NewNumericNodeID(0, id.ObjectsFolder))
	if err != nil {
		return nil, err
	}
	// The folder of the bench variables is one of the children, or the Objects folder itself.
	best := len(children)
	for _, child := range children {
		if child.NodeID.NodeID.Namespace() != c.index {
			continue
		}
		list, err := c.references(child.NodeID.NodeID)
		if err != nil {
			return nil, err
		}
		best = max(best, len(list))
	}
	return step{"children": len(children), "count": best}, nil
}

func (c *client) call() (step, error) {
	res, err := c.Call(c.ctx, &ua.CallMethodRequest{
		ObjectID: c.node(4001), MethodID: c.node(4000), InputArguments: []*ua.Variant{ua.MustVariant(42.5)},
	})
	if err != nil {
		return nil, err
	}
	if res.StatusCode != ua.StatusOK {
		return nil, res.StatusCode
	}
	if len(res.OutputArguments) != 1 || res.OutputArguments[0].Value() != 42.5 {
		return nil, fmt.Errorf("echo(42.5) gave %v", res.OutputArguments)
	}
	return step{"result": res.OutputArguments[0].Value()}, nil
}

func (c *client) subscribe() (step, error) {
	notices := make(chan *opcua.PublishNotificationData, 100)
	sub, err := c.Subscribe(c.ctx, &opcua.SubscriptionParameters{Interval: 100 * time.Millisecond}, notices)
	if err != nil {
		return nil, err
	}
	defer sub.Cancel(c.ctx)
	item := opcua.NewMonitoredItemCreateRequestWithDefaults(c.node(3030), ua.AttributeIDValue, 1)
	item.RequestedParameters.SamplingInterval = 50
	res, err := sub.Monitor(c.ctx, ua.TimestampsToReturnBoth, item)
	if err != nil {
		return nil, err
	}
	if code := res.Results[0].StatusCode; code != ua.StatusOK {
		return nil, code
	}
	values := []any{}
	end := time.After(1500 * time.Millisecond)
	for {
		select {
		case <-end:
			if len(values) == 0 {
				return nil, errors.New("no notification in 1.5 s")
			}
			return step{"notifications": len(values), "values": values}, nil
		case n := <-notices:
			if n.Error != nil {
				return nil, n.Error
			}
			if change, ok := n.Value.(*ua.DataChangeNotification); ok {
				for _, i := range change.MonitoredItems {
					values = append(values, i.Value.Value.Value())
				}
			}
		}
	}
}
