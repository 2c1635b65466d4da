// Reads InfluxDB's line protocol with InfluxDB's own decoder, and prints each line as measurement, tags, fields and time.
package main

import (
	"fmt"
	"os"

	"github.com/influxdata/line-protocol/v2/lineprotocol"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	lines := lineprotocol.NewDecoder(os.Stdin)
	for lines.Next() {
		measurement, err := lines.Measurement()
		check(err)
		fmt.Printf("%s", measurement)
		for {
			key, value, err := lines.NextTag()
			check(err)
			if key == nil {
				break
			}
			fmt.Printf(" %s=%s", key, value)
		}
		for {
			key, value, err := lines.NextField()
			check(err)
			if key == nil {
				break
			}
			fmt.Printf(" %s:%v=%v", key, value.Kind(), value.Interface())
		}
		at, err := lines.TimeBytes()
		check(err)
		fmt.Printf(" at %s\n", at)
	}
}
