package backup

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// wal is the part of a write-ahead log that holds committed pages. The format,
// and the rule which frames count, are SQLite's own for the recovery after a
// crash (https://www.sqlite.org/fileformat.html#the_write_ahead_log).
type wal struct {
	f        *os.File
	pageSize int
	newest   []frame // the newest committed one of each page, by page
	commit   int     // the last commit frame; 0 when there is none
	pages    uint32  // size of the database after that commit, in pages
}

// frame says where a log has a version of a page. Eight bytes for each page that
// is in the log are all the memory that it costs.
type frame struct{ page, number uint32 }

const (
	walHeader   = 32
	walSalt     = 16 // eight bytes
	frameHeader = 24
	walMagic    = 0x377f0682 // the lowest bit is the byte order of the checksums
	walVersion  = 3007000
)

// readWAL finds the committed frames of a log. A log that is absent, empty or
// not SQLite's has none.
func readWAL(f *os.File, pageSize int) (*wal, error) {
	w := &wal{f: f, pageSize: pageSize}
	if f == nil {
		return w, nil
	}
	r := io.NewSectionReader(f, 0, 1<<62)
	head := make([]byte, walHeader)
	if _, err := io.ReadFull(r, head); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return w, nil
	} else if err != nil {
		return nil, err
	}
	magic := binary.BigEndian.Uint32(head)
	if magic&^1 != walMagic || binary.BigEndian.Uint32(head[4:]) != walVersion {
		return w, nil
	}
	var order binary.ByteOrder = binary.LittleEndian
	if magic&1 != 0 {
		order = binary.BigEndian
	}
	sum := checksum{order: order}
	sum.add(head[:24])
	if !sum.is(head[24:]) {
		return w, nil
	}
	if size := int(binary.BigEndian.Uint32(head[8:])); size != pageSize {
		return nil, fmt.Errorf("%w: the log has pages of %d bytes, the database of %d", ErrCorrupt, size, pageSize)
	}
	if err := w.readFrames(r, head[walSalt:walSalt+8], sum); err != nil {
		return nil, err
	}
	w.sort()
	return w, nil
}

// readFrames follows the chain of salts and checksums. Frames after the last
// commit are of a transaction that is going on, or was cut off.
func (w *wal) readFrames(r io.Reader, salt []byte, sum checksum) error {
	const buffered = 64
	size := frameHeader + w.pageSize
	buf := make([]byte, buffered*size)
	committed := 0 // frames of transactions whose commit was read
	limit := 64 << 10
	defer func() { w.newest = w.newest[:committed] }()
	for at := uint32(1); ; {
		n, err := io.ReadFull(r, buf)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		for b := buf[:n]; len(b) >= size; b = b[size:] {
			head, page := b[:frameHeader], b[frameHeader:size]
			if string(head[8:16]) != string(salt) {
				return nil
			}
			sum.add(head[:8])
			sum.add(page)
			number := binary.BigEndian.Uint32(head)
			if !sum.is(head[16:24]) || number == 0 {
				return nil
			}
			w.newest = append(w.newest, frame{number, at})
			if pages := binary.BigEndian.Uint32(head[4:]); pages != 0 {
				if len(w.newest) > limit { // most frames are newer versions of the same pages
					w.sort()
					limit = max(limit, 2*len(w.newest))
				}
				committed = len(w.newest)
				w.commit, w.pages = int(at), pages
			}
			at++
		}
		if n < len(buf) {
			return nil
		}
	}
}

// sort brings the committed frames in order and drops all but the last of each
// page.
func (w *wal) sort() {
	slices.SortFunc(w.newest, func(a, b frame) int {
		return cmp.Or(cmp.Compare(a.page, b.page), cmp.Compare(b.number, a.number))
	})
	w.newest = slices.CompactFunc(w.newest, func(a, b frame) bool { return a.page == b.page })
}

// find gives the newest committed frame of a page, if the log has one.
func (w *wal) find(page uint32) (number uint32, ok bool) {
	i, ok := slices.BinarySearchFunc(w.newest, page, func(f frame, page uint32) int { return cmp.Compare(f.page, page) })
	if !ok {
		return 0, false
	}
	return w.newest[i].number, true
}

// read reads the page of a frame.
func (w *wal) read(number uint32, to []byte) error {
	at := int64(walHeader) + int64(number-1)*int64(frameHeader+w.pageSize) + frameHeader
	_, err := w.f.ReadAt(to, at)
	return err
}

// checksum is the running checksum of a log.
type checksum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

// add takes in b, whose length is a multiple of eight.
func (c *checksum) add(b []byte) {
	s0, s1 := c.s0, c.s1
	if c.order == binary.LittleEndian { // nearly always; worth not calling through the interface
		for ; len(b) >= 8; b = b[8:] {
			s0 += binary.LittleEndian.Uint32(b) + s1
			s1 += binary.LittleEndian.Uint32(b[4:]) + s0
		}
	} else {
		for ; len(b) >= 8; b = b[8:] {
			s0 += binary.BigEndian.Uint32(b) + s1
			s1 += binary.BigEndian.Uint32(b[4:]) + s0
		}
	}
	c.s0, c.s1 = s0, s1
}

func (c *checksum) is(b []byte) bool {
	return binary.BigEndian.Uint32(b) == c.s0 && binary.BigEndian.Uint32(b[4:]) == c.s1
}
