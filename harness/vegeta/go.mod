module zoo/vegeta

go 1.22

require github.com/tsenart/vegeta/v12 v12.13.0
