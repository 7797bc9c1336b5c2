// The translation of legacy events to the standard protocol by net/http and encoding/json, as a peer of the gateway.
// It keeps no other promise of the protocol: no clocks, limits or redaction, no repair, no log line.
//
//	usage: translating PORT UPSTREAM_URL
package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"time"
)

type legacyEvent struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

type metadata struct {
	RequestID string `json:"request_id"`
	Timestamp int64  `json:"timestamp"`
	Sequence  int    `json:"sequence"`
}

type standardEvent struct {
	Type     string   `json:"type"`
	Data     any      `json:"data"`
	Metadata metadata `json:"metadata"`
}

type content struct {
	Content    string `json:"content"`
	IsComplete bool   `json:"is_complete,omitempty"`
	Op         string `json:"op,omitempty"`
}

type sessionStart struct {
	SessionID string `json:"session_id"`
	RequestID string `json:"request_id"`
	Protocol  string `json:"protocol"`
}

type summary struct {
	DurationMs int64 `json:"duration_ms"`
	ToolCalls  int   `json:"tool_calls"`
	Events     int   `json:"events"`
}

type sessionEnd struct {
	Status  string  `json:"status"`
	Reason  string  `json:"reason"`
	Summary summary `json:"summary"`
}

type stream struct {
	out        *bufio.Writer
	id         string
	began      time.Time
	sequence   int
	isComplete bool
}

func (s *stream) write(kind string, data any) error {
	event := standardEvent{kind, data, metadata{"req_" + s.id, time.Now().UnixMilli(), s.sequence}}
	text, err := json.Marshal(event)
	if err != nil {
		return err
	}
	s.out.WriteString("id: ")
	s.out.WriteString(strconv.Itoa(s.sequence))
	s.out.WriteString("\ndata: ")
	s.out.Write(text)
	s.sequence++
	_, err = s.out.WriteString("\n\n")
	return err
}

func (s *stream) end() error {
	if !s.isComplete {
		if err := s.write("content", content{"", true, ""}); err != nil {
			return err
		}
	}
	total := summary{time.Since(s.began).Milliseconds(), 0, s.sequence + 1}
	return s.write("session_end", sessionEnd{"completed", "done", total})
}

var dataPrefix = []byte("data: ")

// translate returns true at the end of the stream.
func (s *stream) translate(line []byte) (bool, error) {
	line = bytes.TrimRight(line, "\r\n")
	if !bytes.HasPrefix(line, dataPrefix) {
		return false, nil
	}
	line = line[len(dataPrefix):]
	if string(line) == "[DONE]" {
		return true, nil
	}
	var event legacyEvent
	if err := json.Unmarshal(line, &event); err != nil {
		return false, err
	}
	switch event.Type {
	case "token":
		return false, s.write("content", content{event.Content, false, ""})
	case "final_answer":
		s.isComplete = true
		return false, s.write("content", content{event.Content, true, "replace"})
	}
	return false, nil
}

type proxy struct {
	client   *http.Client
	upstream string
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 8<<20))
	if err != nil {
		http.Error(w, "the request is not whole", http.StatusBadRequest)
		return
	}
	asked, err := http.NewRequestWithContext(r.Context(), http.MethodPost, p.upstream, bytes.NewReader(body))
	if err != nil {
		http.Error(w, "no such upstream", http.StatusInternalServerError)
		return
	}
	var id [16]byte
	rand.Read(id[:])
	s := &stream{id: hex.EncodeToString(id[:]), began: time.Now(), out: bufio.NewWriterSize(w, 64<<10)}
	asked.Header.Set("Content-Type", "application/json")
	asked.Header.Set("Accept", "text/event-stream")
	asked.Header.Set("X-Request-Id", "req_"+s.id)
	response, err := p.client.Do(asked)
	if err != nil {
		http.Error(w, "the upstream does not answer", http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Request-Id", "req_"+s.id)
	if err := s.relay(bufio.NewReaderSize(response.Body, 64<<10), w.(http.Flusher)); err != nil {
		panic(http.ErrAbortHandler)
	}
	io.Copy(io.Discard, response.Body)
}

// relay flushes once for what has come together.
func (s *stream) relay(in *bufio.Reader, flusher http.Flusher) error {
	err := s.write("session_start", sessionStart{"sess_" + s.id, "req_" + s.id, "1.1"})
	for isOver := false; err == nil && !isOver; {
		var line []byte
		if line, err = in.ReadSlice('\n'); err != nil {
			break
		}
		if isOver, err = s.translate(line); err == nil && !isOver && in.Buffered() == 0 {
			if err = s.out.Flush(); err == nil {
				flusher.Flush()
			}
		}
	}
	if err == nil {
		err = s.end()
	}
	if err == nil {
		err = s.out.Flush()
	}
	return err
}

func main() {
	runtime.GOMAXPROCS(1)
	transport := &http.Transport{MaxIdleConns: 20000, MaxIdleConnsPerHost: 20000, DisableCompression: true}
	handler := &proxy{&http.Client{Transport: transport}, os.Args[2]}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], handler))
}
