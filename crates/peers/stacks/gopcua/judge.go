package main

// The steps that judge a server: what was seen goes to a file, line by line, for somebody else to
// compare. They are only done when named.

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/gopcua/opcua"
	"github.com/gopcua/opcua/id"
	"github.com/gopcua/opcua/ua"
)

const (
	nodesAtOnce      = 100
	referencesAtOnce = 100
	attributes       = 27
)

// judge is where a step writes to, and what it waits for.
type judge struct {
	out     string
	updates int
	cut     int
}

// references gives all references of each node, both ways, by BrowseNext where there are many.
func (c *client) references(nodes []*ua.NodeID) ([][]*ua.ReferenceDescription, error) {
	req := &ua.BrowseRequest{
		View:                          &ua.ViewDescription{ViewID: ua.NewTwoByteNodeID(0)},
		RequestedMaxReferencesPerNode: referencesAtOnce,
	}
	for _, n := range nodes {
		req.NodesToBrowse = append(req.NodesToBrowse, &ua.BrowseDescription{
			NodeID: n, BrowseDirection: ua.BrowseDirectionBoth, ReferenceTypeID: ua.NewTwoByteNodeID(0),
			IncludeSubtypes: true, ResultMask: uint32(ua.BrowseResultMaskAll),
		})
	}
	res, err := c.Browse(c.ctx, req)
	if err != nil {
		return nil, err
	}
	var all [][]*ua.ReferenceDescription
	for _, result := range res.Results {
		var found []*ua.ReferenceDescription
		for {
			if result.StatusCode != ua.StatusOK {
				return nil, result.StatusCode
			}
			found = append(found, result.References...)
			if len(result.ContinuationPoint) == 0 {
				break
			}
			next, err := c.BrowseNext(c.ctx, &ua.BrowseNextRequest{ContinuationPoints: [][]byte{result.ContinuationPoint}})
			if err != nil {
				return nil, err
			}
			result = next.Results[0]
		}
		all = append(all, found)
	}
	return all, nil
}

func (c *client) attributes(nodes []*ua.NodeID) ([]*ua.DataValue, error) {
	req := &ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnNeither}
	for _, n := range nodes {
		for a := ua.AttributeID(1); a <= attributes; a++ {
			req.NodesToRead = append(req.NodesToRead, &ua.ReadValueID{NodeID: n, AttributeID: a})
		}
	}
	res, err := c.Read(c.ctx, req)
	if err != nil {
		return nil, err
	}
	if len(res.Results) != len(req.NodesToRead) {
		return nil, fmt.Errorf("%d results to %d attributes", len(res.Results), len(req.NodesToRead))
	}
	return res.Results, nil
}

func (j judge) dump(c *client) (step, error) {
	file, err := os.Create(j.out)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	root := ua.NewNumericNodeID(0, id.RootFolder)
	seen, pending, lines := map[string]bool{root.String(): true}, []*ua.NodeID{root}, 0
	for len(pending) > 0 {
		some := min(len(pending), nodesAtOnce)
		nodes := pending[:some]
		pending = pending[some:]
		found, err := c.references(nodes)
		if err != nil {
			return nil, err
		}
		values, err := c.attributes(nodes)
		if err != nil {
			return nil, err
		}
		for i, n := range nodes {
			name, err := ua.Encode(n)
			if err != nil {
				return nil, err
			}
			for _, r := range found[i] {
				body, err := ua.Encode(r)
				if err != nil {
					return nil, err
				}
				fmt.Fprintf(out, "R\t%x\t%x\n", name, body)
				lines++
				if key := r.NodeID.NodeID.String(); r.NodeID.ServerIndex == 0 && !seen[key] {
					seen[key] = true
					pending = append(pending, r.NodeID.NodeID)
				}
			}
			for a := 0; a < attributes; a++ {
				value := values[i*attributes+a]
				if value.Status == ua.StatusBadAttributeIDInvalid {
					continue
				}
				body := ""
				if value.Value != nil {
					bytes, err := value.Value.Encode()
					if err != nil {
						return nil, err
					}
					body = hex.EncodeToString(bytes)
				}
				fmt.Fprintf(out, "A\t%x\t%d\t%08x\t%s\n", name, a+1, uint32(value.Status), body)
				lines++
			}
		}
	}
	return step{"nodes": len(seen), "lines": lines}, out.Flush()
}

// follow subscribes to nodes and calls seen with the handle and the value of each change, until that
// says that it is enough.
func (c *client) follow(numbers []uint32, seen func(handle uint32, value *ua.DataValue) bool) error {
	notices := make(chan *opcua.PublishNotificationData, 10_000)
	sub, err := c.Subscribe(c.ctx, &opcua.SubscriptionParameters{Interval: 100 * time.Millisecond}, notices)
	if err != nil {
		return err
	}
	defer sub.Cancel(c.ctx)
	var items []*ua.MonitoredItemCreateRequest
	for _, n := range numbers {
		item := opcua.NewMonitoredItemCreateRequestWithDefaults(c.node(n), ua.AttributeIDValue, n)
		item.RequestedParameters.SamplingInterval = 0
		item.RequestedParameters.QueueSize = 1000
		items = append(items, item)
	}
	res, err := sub.Monitor(c.ctx, ua.TimestampsToReturnBoth, items...)
	if err != nil {
		return err
	}
	for _, result := range res.Results {
		if result.StatusCode != ua.StatusOK {
			return result.StatusCode
		}
	}
	for {
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case n := <-notices:
			if n.Error != nil {
				// The stack tells of a lost connection here, and goes on when there is a new one.
				fmt.Fprintln(os.Stderr, n.Error)
				continue
			}
			if change, ok := n.Value.(*ua.DataChangeNotification); ok {
				for _, i := range change.MonitoredItems {
					if seen(i.ClientHandle, i.Value) {
						return nil
					}
				}
			}
		}
	}
}

func (j judge) watch(c *client) (step, error) {
	file, err := os.Create(j.out)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	numbers := make([]uint32, 1000)
	for i := range numbers {
		numbers[i] = uint32(1000 + i)
	}
	counts, complete, all := map[uint32]int{}, 0, 0
	err = c.follow(numbers, func(handle uint32, value *ua.DataValue) bool {
		fmt.Fprintf(out, "%d\t%v\t%08x\n", handle, whole(value), uint32(value.Status))
		all++
		if counts[handle]++; counts[handle] == j.updates+1 {
			complete++
		}
		return complete == len(numbers)
	})
	if err != nil {
		return nil, err
	}
	return step{"notifications": all}, out.Flush()
}

// whole is a number without a fraction.
func whole(value *ua.DataValue) any {
	if value.Value == nil {
		return nil
	}
	if number, ok := value.Value.Value().(float64); ok {
		return int64(number)
	}
	return value.Value.Value()
}

func (j judge) scissors(c *client) (step, error) {
	file, err := os.Create(j.out)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	before, after := 0, 0
	err = c.follow([]uint32{3030}, func(_ uint32, value *ua.DataValue) bool {
		fmt.Fprintln(file, whole(value))
		if before++; before > 5 {
			after++
		}
		if before == 5 {
			fmt.Fprintln(file, "CUT")
			if socket, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", j.cut)); err == nil {
				socket.Close()
			}
		}
		return after >= j.updates
	})
	if err != nil {
		return nil, err
	}
	return step{"notifications": before}, nil
}
