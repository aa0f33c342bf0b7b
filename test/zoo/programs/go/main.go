// The clients, the service and the reverse proxy of Go.
//
//	zoo client net/http|gorilla|coder   each line of the input is `SHAPE URL`, and gets one line of JSON
//	zoo service PORT
//	zoo proxy PORT URL
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	coder "github.com/coder/websocket"
	gorilla "github.com/gorilla/websocket"
)

type said struct {
	Status int    `json:"status,omitempty"`
	Body   string `json:"body"`
	Error  string `json:"error,omitempty"`
}

func main() {
	switch os.Args[1] {
	case "client":
		client(os.Args[2])
	case "service":
		log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], service()))
	case "proxy":
		target, err := url.Parse(os.Args[3])
		if err != nil {
			log.Fatal(err)
		}
		proxy := &httputil.ReverseProxy{
			Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
			ErrorLog: log.New(io.Discard, "", 0),
		}
		log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[2], proxy))
	}
}

func client(library string) {
	ask := map[string]func(shape, url string) (int, string, error){
		"net/http": netHTTP, "gorilla": gorillaEcho, "coder": coderEcho,
	}[library]
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		shape, url, _ := strings.Cut(lines.Text(), " ")
		status, body, err := ask(shape, url)
		result := said{Status: status, Body: body[:min(len(body), 200)]}
		if err != nil {
			result = said{Error: err.Error()}
		}
		text, _ := json.Marshal(result)
		fmt.Println(string(text))
	}
}

func netHTTP(shape, url string) (status int, body string, err error) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	times := 1
	if shape == "keepalive" {
		times = 5
	}
	for range times {
		reply, err := client.Do(request(shape, url))
		if err != nil {
			return 0, "", err
		}
		text, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil {
			return 0, "", err
		}
		status, body = reply.StatusCode, string(text)
	}
	return status, body, nil
}

func request(shape, url string) *http.Request {
	make := func(method, path string, body io.Reader) *http.Request {
		request, err := http.NewRequest(method, url+path, body)
		if err != nil {
			log.Fatal(err)
		}
		return request
	}
	switch shape {
	case "chunked":
		// No reader whose length the library knows.
		return make("POST", "/echo", io.MultiReader(strings.NewReader("he"), strings.NewReader("llo")))
	case "large":
		return make("POST", "/echo", bytes.NewReader(bytes.Repeat([]byte("x"), 3_000_000)))
	case "early":
		return make("POST", "/early", bytes.NewReader(bytes.Repeat([]byte("x"), 1_000_000)))
	case "head":
		return make("HEAD", "/hello", nil)
	case "range":
		request := make("GET", "/range", nil)
		request.Header.Set("Range", "bytes=10-19")
		return request
	case "sse":
		return make("GET", "/events", nil)
	}
	return make("GET", "/hello", nil)
}

func gorillaEcho(_, url string) (int, string, error) {
	socket, _, err := gorilla.DefaultDialer.Dial(strings.Replace(url, "http", "ws", 1)+"/ws", nil)
	if err != nil {
		return 0, "", err
	}
	defer socket.Close()
	if err := socket.WriteMessage(gorilla.TextMessage, []byte("hi")); err != nil {
		return 0, "", err
	}
	_, text, err := socket.ReadMessage()
	return 101, string(text), err
}

func coderEcho(_, url string) (int, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	socket, _, err := coder.Dial(ctx, url+"/ws", nil)
	if err != nil {
		return 0, "", err
	}
	defer socket.CloseNow()
	if err := socket.Write(ctx, coder.MessageText, []byte("hi")); err != nil {
		return 0, "", err
	}
	_, text, err := socket.Read(ctx)
	return 101, string(text), err
}

func service() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		length, err := io.Copy(io.Discard, r.Body)
		if err == nil {
			fmt.Fprintf(w, "len=%d", length)
		}
	})
	mux.HandleFunc("/early", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(401)
		io.WriteString(w, "early")
	})
	mux.HandleFunc("/range", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "letters.txt", time.Time{}, strings.NewReader("abcdefghijklmnopqrstuvwxyz"))
	})
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for n := range 3 {
			io.WriteString(w, "data: "+strconv.Itoa(n+1)+"\n\n")
			http.NewResponseController(w).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	})
	mux.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) {
		socket, err := (&gorilla.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer socket.Close()
		for {
			kind, text, err := socket.ReadMessage()
			if err != nil || socket.WriteMessage(kind, append([]byte("echo "), text...)) != nil {
				return
			}
		}
	})
	return mux
}
