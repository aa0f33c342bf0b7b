// A service that says which sid and api_key the standard library of Go reads.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read := map[string]string{"api_key": r.URL.Query().Get("api_key")}
		if cookie, err := r.Cookie("sid"); err == nil {
			read["sid"] = cookie.Value
		}
		json.NewEncoder(w).Encode(read)
	})))
}
