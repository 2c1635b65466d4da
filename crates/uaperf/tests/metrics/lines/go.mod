module lines

go 1.19

require github.com/influxdata/line-protocol/v2 v2.2.1
