//go:build never

// Package broker names what is built: the server of NATS, as its module has it.
package broker

import _ "github.com/nats-io/nats-server/v2"
