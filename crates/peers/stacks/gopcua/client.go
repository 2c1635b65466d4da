package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
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

type target struct {
	url, policy, mode, user, password, pki string
	cert, key, userCert, userKey           string
	reconnect                              bool
}

func runClient(url string, args []string) int {
	t := target{url: url}
	flags := flag.NewFlagSet("client", flag.ExitOnError)
	flags.StringVar(&t.policy, "policy", "None", "security policy")
	flags.StringVar(&t.mode, "mode", "None", "security mode")
	flags.StringVar(&t.user, "user", "", "user name")
	flags.StringVar(&t.password, "password", "", "password")
	flags.StringVar(&t.pki, "pki", "pki", "folder of certificates")
	flags.StringVar(&t.cert, "cert", "", "application certificate, DER")
	flags.StringVar(&t.key, "key", "", "its key, PEM")
	flags.StringVar(&t.userCert, "user-cert", "", "user certificate, DER")
	flags.StringVar(&t.userKey, "user-key", "", "its key, PEM")
	do := flags.String("do", "read,write,browse,call,subscribe", "steps")
	j := judge{}
	flags.StringVar(&j.out, "out", "", "file for what a judging step saw")
	flags.IntVar(&j.updates, "updates", 50, "updates that a judging step waits for")
	flags.IntVar(&j.cut, "cut", 0, "port that cuts the connection")
	flags.Parse(args)
	asked := strings.Split(*do, ",")
	t.reconnect = slices.Contains(asked, "cut")

	patience := time.Minute
	if j.out != "" {
		patience = 170 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	steps, failure := map[string]step{}, ""
	note := func(name string, s step, err error) {
		if err != nil {
			s = step{"ok": false, "error": text(err)}
			if failure == "" {
				failure = text(err)
			}
		} else {
			s["ok"] = true
		}
		steps[name] = s
	}

	c, ms, err := t.connect(ctx)
	note("connect", step{"ms": ms}, err)
	for _, work := range []struct {
		name string
		do   func(*client) (step, error)
	}{
		{"read", (*client).read}, {"write", (*client).write}, {"browse", (*client).browse},
		{"call", (*client).call}, {"subscribe", (*client).subscribe},
		{"dump", j.dump}, {"watch", j.watch}, {"cut", j.scissors},
	} {
		if !slices.Contains(asked, work.name) {
			continue
		}
		if c == nil {
			note(work.name, nil, fmt.Errorf("not connected: %w", err))
			continue
		}
		s, fault := work.do(c)
		note(work.name, s, fault)
		// One step's broken connection shall not be the next one's failure.
		if fault != nil {
			c.Close(ctx)
			c, _, err = t.connect(ctx)
		}
	}
	if c != nil {
		c.Close(ctx)
	}
	report := map[string]any{"stack": "gopcua", "version": version, "steps": steps, "error": nil}
	code := 0
	if failure != "" {
		report["error"], code = failure, 1
	}
	json.NewEncoder(os.Stdout).Encode(report)
	return code
}

// text gives an error with its status code, which the stack wraps or prints as words only.
func text(err error) string {
	var code ua.StatusCode
	if errors.As(err, &code) {
		return fmt.Sprintf("0x%08X %s", uint32(code), err)
	}
	return err.Error()
}

func (t target) connect(ctx context.Context) (*client, float64, error) {
	cert, key, err := applicationCertificate(t.pki, "client")
	if err == nil && t.cert != "" {
		cert, key, err = loadCertificate(t.cert, t.key)
	}
	if err != nil {
		return nil, 0, err
	}
	endpoints, err := opcua.GetEndpoints(ctx, t.url)
	if err != nil {
		return nil, 0, err
	}
	uri, mode := ua.FormatSecurityPolicyURI(t.policy), ua.MessageSecurityModeFromString(t.mode)
	at := slices.IndexFunc(endpoints, func(e *ua.EndpointDescription) bool {
		return e.SecurityPolicyURI == uri && e.SecurityMode == mode
	})
	if at < 0 {
		return nil, 0, fmt.Errorf("the server has no endpoint %s %s", t.policy, t.mode)
	}
	options := []opcua.Option{opcua.AutoReconnect(t.reconnect), opcua.RequestTimeout(10 * time.Second)}
	// On an unsecured channel a server may keep its certificate, which the password is encrypted for,
	// from a client that does not show its own.
	if t.policy != "None" || t.user != "" || t.userCert != "" {
		options = append(options, opcua.Certificate(cert), opcua.PrivateKey(key))
	}
	token := ua.UserTokenTypeAnonymous
	switch {
	case t.user != "":
		token = ua.UserTokenTypeUserName
		options = append(options, opcua.AuthUsername(t.user, t.password))
	case t.userCert != "":
		token = ua.UserTokenTypeCertificate
		userCert, userKey, err := loadCertificate(t.userCert, t.userKey)
		if err != nil {
			return nil, 0, err
		}
		options = append(options, opcua.AuthCertificate(userCert), opcua.AuthPrivateKey(userKey))
	default:
		options = append(options, opcua.AuthAnonymous())
	}
	// Comes last: it writes the policy id into the token that the options before have made.
	options = append(options, opcua.SecurityFromEndpoint(endpoints[at], token))
	c, err := opcua.NewClient(t.url, options...)
	if err != nil {
		return nil, 0, err
	}
	start := time.Now()
	if err := c.Connect(ctx); err != nil {
		return nil, 0, err
	}
	ms := float64(time.Since(start).Microseconds()) / 1000
	index, err := c.FindNamespace(ctx, namespaceURI)
	if err != nil {
		c.Close(ctx)
		return nil, 0, err
	}
	return &client{c, ctx, index}, ms, nil
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
	for _, first := range []uint32{1000, 1500} {
		numbers := make([]uint32, 500)
		for i := range numbers {
			numbers[i] = first + uint32(i)
		}
		values, err := c.values(numbers...)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			scalars[fmt.Sprintf("i=%d", numbers[i])] = v
		}
	}
	// One by one: some servers do not split their answer, then the message names the culprit.
	for _, number := range []uint32{3030, 3031, 3020, 3010, 3011, 3012, 3013, 3014} {
		values, err := c.values(number)
		if err != nil {
			return nil, fmt.Errorf("i=%d: %w", number, err)
		}
		name := fmt.Sprintf("i=%d", number)
		switch list := values[0].(type) {
		case []byte:
			arrays[name] = summary(list)
		case ua.ByteArray:
			arrays[name] = summary(list)
		case []int16:
			arrays[name] = summary(list)
		default:
			scalars[name] = list
		}
	}
	return step{"values": scalars, "arrays": arrays}, nil
}

// summary is a list's length and the sum of its elements modulo 65536.
func summary[T byte | int16](list []T) [2]int {
	sum := 0
	for _, x := range list {
		sum += int(x)
	}
	return [2]int{len(list), sum & 0xffff}
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
	before, err := c.values(1499, 1999)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.put(1499, 0.5), c.put(1999, int32(-5))); err != nil {
		return nil, err
	}
	after, err := c.values(1499, 1999)
	if err != nil {
		return nil, err
	}
	if after[0] != 0.5 || after[1] != int32(-5) {
		return nil, fmt.Errorf("wrote 0.5 and -5, read %v", after)
	}
	return step{}, errors.Join(c.put(1499, before[0]), c.put(1999, before[1]))
}

func (c *client) browse() (step, error) {
	seen := map[string]bool{}
	queue := []*ua.NodeID{ua.NewNumericNodeID(0, id.ObjectsFolder)}
	for len(queue) > 0 {
		node := queue[0]
		queue = queue[1:]
		// References goes on with BrowseNext by itself.
		list, err := c.Node(node).References(c.ctx, id.HierarchicalReferences, ua.BrowseDirectionForward, ua.NodeClassAll, true)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if key := r.NodeID.NodeID.String(); r.NodeID.NodeID.Namespace() == c.index && !seen[key] {
				seen[key] = true
				if r.NodeClass == ua.NodeClassObject {
					queue = append(queue, r.NodeID.NodeID)
				}
			}
		}
	}
	if len(seen) < 1010 {
		return nil, fmt.Errorf("found %d nodes of %s, want 1010 or more", len(seen), namespaceURI)
	}
	return step{"count": len(seen)}, nil
}

func (c *client) call() (step, error) {
	res, err := c.Call(c.ctx, &ua.CallMethodRequest{
		ObjectID: c.node(4001), MethodID: c.node(4000), InputArguments: []*ua.Variant{ua.MustVariant(12.5)},
	})
	if err != nil {
		return nil, err
	}
	if res.StatusCode != ua.StatusOK {
		return nil, res.StatusCode
	}
	if len(res.OutputArguments) != 1 || res.OutputArguments[0].Value() != 12.5 {
		return nil, fmt.Errorf("echo(12.5) gave %v", res.OutputArguments)
	}
	return step{"result": 12.5}, nil
}

func (c *client) subscribe() (step, error) {
	notices := make(chan *opcua.PublishNotificationData, 100)
	sub, err := c.Subscribe(c.ctx, &opcua.SubscriptionParameters{Interval: 100 * time.Millisecond}, notices)
	if err != nil {
		return nil, err
	}
	defer sub.Cancel(c.ctx)
	item := opcua.NewMonitoredItemCreateRequestWithDefaults(c.node(3030), ua.AttributeIDValue, 1)
	item.RequestedParameters.SamplingInterval = 100
	res, err := sub.Monitor(c.ctx, ua.TimestampsToReturnBoth, item)
	if err != nil {
		return nil, err
	}
	if code := res.Results[0].StatusCode; code != ua.StatusOK {
		return nil, code
	}
	values := []uint32{}
	for end := time.After(5 * time.Second); len(values) < 5; {
		select {
		case <-end:
			return nil, fmt.Errorf("notified of %v in 5 s", values)
		case n := <-notices:
			if n.Error != nil {
				return nil, n.Error
			}
			if change, ok := n.Value.(*ua.DataChangeNotification); ok {
				for _, i := range change.MonitoredItems {
					value, _ := i.Value.Value.Value().(uint32)
					values = append(values, value)
				}
			}
		}
	}
	for i := 1; i < len(values); i++ {
		if values[i] <= values[i-1] {
			return nil, fmt.Errorf("the counter does not rise: %v", values)
		}
	}
	return step{"notifications": len(values), "values": values}, nil
}
