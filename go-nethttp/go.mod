module server-zoo/go-nethttp

go 1.26
