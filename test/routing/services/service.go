// A service on Go's ServeMux: it says which of its handlers a path has.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
)

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, text) }
}

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/kiss", says("dear"))
	mux.HandleFunc("/v1/user/{id}/pay", says("dear"))
	mux.HandleFunc("/", says("other"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, mux))
}
