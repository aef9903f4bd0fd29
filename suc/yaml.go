package suc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds on what one document may make of us; aliases can name each other.
const (
	maxValues = 1 << 18
	maxDepth  = 64
)

// piece is one YAML document or JSON object of a file, with the number of the
// line before it.
type piece struct {
	text   []byte
	before int
}

// split cuts a file into its documents where kubectl does: at lines that begin
// with "---", which YAML forbids inside any scalar
// (https://yaml.org/spec/1.2.2/#912-document-markers), or after each object of a
// JSON stream. A document that is broken then leaves the others readable.
func split(data []byte) []piece {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		if p, ok := splitJSON(data); ok {
			return p
		}
	}
	var pieces []piece
	start, line, startLine := 0, 0, 0
	content := false // something else than comments and directives was seen
	for at := 0; at < len(data); {
		end := len(data)
		if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		text := data[at:end]
		if marker(text) {
			if content && at > start {
				pieces = append(pieces, piece{data[start:at], startLine})
				start, startLine = at, line
			}
			content = true
		} else if t := bytes.TrimSpace(text); len(t) > 0 && t[0] != '#' && t[0] != '%' {
			content = true
		}
		at = end
		line++
	}
	if start < len(data) {
		pieces = append(pieces, piece{data[start:], startLine})
	}
	return pieces
}

func marker(line []byte) bool {
	return bytes.HasPrefix(line, []byte("---")) && (len(line) == 3 || strings.IndexByte(" \t\r\n", line[3]) >= 0)
}

// splitJSON reads a stream of JSON objects. Raw tabs stand only between JSON
// tokens, and YAML takes blanks there.
func splitJSON(data []byte) ([]piece, bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	var pieces []piece
	end, line := 0, 0
	for {
		var raw json.RawMessage
		if err := dec.Decode(&raw); errors.Is(err, io.EOF) {
			return pieces, true
		} else if err != nil {
			return nil, false
		}
		start := int(dec.InputOffset()) - len(raw)
		line += bytes.Count(data[end:start], []byte("\n"))
		pieces = append(pieces, piece{bytes.ReplaceAll(raw, []byte("\t"), []byte(" ")), line})
		line += bytes.Count(raw, []byte("\n"))
		end = start + len(raw)
	}
}

// node is a parsed YAML value whose line counts from the start of the file.
type node struct {
	*yaml.Node
	before int
}

func (n node) line() int { return n.before + n.Line }

// syntaxError is a place where a file is no YAML.
type syntaxError struct {
	line    int
	message string
}

func (e *syntaxError) Error() string { return e.message }

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// nodes parses a piece. "..." can end a document without a "---" after it, so
// a piece may hold several; those before an error are given too.
func (p piece) nodes() (docs []node, err error) {
	// The parser panics on some bytes that are no YAML; to the caller that is
	// a syntax error like any other.
	defer func() {
		if r := recover(); r != nil {
			err = &syntaxError{p.before + 1, fmt.Sprintf("no YAML: %v", r)}
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(p.text))
	for {
		var n yaml.Node
		if err := dec.Decode(&n); errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			e := &syntaxError{line: p.before + 1, message: err.Error()}
			if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
				if l, err := strconv.Atoi(m[1]); err == nil {
					e.line = p.before + l
				}
				e.message = m[2]
			}
			return docs, e
		}
		if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
			docs = append(docs, node{n.Content[0], p.before})
		}
	}
}

// decimal is what YAML calls a float, beside what Go calls an integer.
var decimal = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

// words are the plain scalars that are no strings for YAML 1.1, which kubectl
// and Go's JSON bridges still read by.
var words = func() map[string]any {
	m := map[string]any{"": nil, "~": nil, "null": nil, "Null": nil, "NULL": nil}
	for v, texts := range map[bool]string{true: "y yes true on", false: "n no false off"} {
		for _, t := range strings.Fields(texts) {
			m[t], m[strings.ToUpper(t)], m[strings.ToUpper(t[:1])+t[1:]] = v, v, v
		}
	}
	for t, v := range map[string]float64{
		".nan": math.NaN(), ".NaN": math.NaN(), ".NAN": math.NaN(),
		".inf": math.Inf(1), ".Inf": math.Inf(1), ".INF": math.Inf(1),
		"+.inf": math.Inf(1), "+.Inf": math.Inf(1), "+.INF": math.Inf(1),
		"-.inf": math.Inf(-1), "-.Inf": math.Inf(-1), "-.INF": math.Inf(-1),
	} {
		m[t] = v
	}
	return m
}()

// scalar gives the JSON value of a YAML scalar: nil, bool, int64, float64 or
// string.
func scalar(n *yaml.Node) any {
	s := n.Value
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return s
	}
	if n.Style&yaml.TaggedStyle != 0 && n.Tag == "!!str" {
		return s
	}
	if len(s) <= 5 {
		if v, ok := words[s]; ok {
			return v
		}
	}
	if c := s[0]; c != '+' && c != '-' && c != '.' && (c < '0' || c > '9') {
		return s
	}
	plain := strings.ReplaceAll(s, "_", "")
	if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return i
	}
	if _, err := strconv.ParseUint(plain, 0, 64); err == nil || decimal.MatchString(plain) {
		if f, err := strconv.ParseFloat(plain, 64); err == nil {
			return f
		}
	}
	return s
}
