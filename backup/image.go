package backup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sync/errgroup"
)

// image is a database as it is at one commit: its file, with the committed
// pages of its log on top. Whoever makes one sees to it that neither the pages
// below nor the frames on top change: see readMoment.
type image struct {
	f        *os.File
	wal      *wal
	pageSize int
	pages    uint32 // size at that commit
	free     uint32 // unused pages among them
	mode     string // the journal mode in the header
}

// openImage reads what it needs to know before the first page is copied.
func openImage(f, log *os.File) (*image, error) {
	head := make([]byte, 100)
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	size := int(binary.BigEndian.Uint16(head[16:]))
	if size == 1 {
		size = 65536
	}
	if size < 512 || size&(size-1) != 0 {
		return nil, fail("read", f.Name(), ErrCorrupt, "its header gives a page size of %d", size)
	}
	w, err := readWAL(log, size)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	img := &image{f: f, wal: w, pageSize: size, pages: w.pages}
	first := make([]byte, size)
	if err := img.page(1, first); err != nil {
		return nil, err
	}
	if w.commit == 0 {
		// The header's size counts when it is of the same change as the file
		// (https://www.sqlite.org/fileformat.html#in_header_database_size).
		img.pages = uint32(st.Size() / int64(size))
		if n := binary.BigEndian.Uint32(first[28:]); n != 0 && string(first[24:28]) == string(first[92:96]) {
			img.pages = n
		}
	}
	img.free = binary.BigEndian.Uint32(first[36:])
	img.mode = "delete"
	if first[18] == 2 {
		img.mode = "wal"
	}
	if img.pages == 0 {
		return nil, fail("read", f.Name(), ErrNotSQLite, "it has no pages")
	}
	return img, nil
}

func (img *image) size() int64 { return int64(img.pages) * int64(img.pageSize) }

// page reads one page; one that neither the log nor the file has is damage.
func (img *image) page(number uint32, to []byte) error {
	if frame, ok := img.wal.find(number); ok {
		return img.wal.read(frame, to)
	}
	_, err := img.f.ReadAt(to, int64(number-1)*int64(img.pageSize))
	if errors.Is(err, io.EOF) {
		return fail("read", img.f.Name(), ErrCorrupt, "it ends before page %d, and its log does not have it", number)
	}
	return err
}

// read fills to with pages from number on.
func (img *image) read(number uint32, to []byte) error {
	n, err := img.f.ReadAt(to, int64(number-1)*int64(img.pageSize))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for at := 0; at < len(to); at += img.pageSize {
		page := number + uint32(at/img.pageSize)
		if frame, ok := img.wal.find(page); ok {
			if err := img.wal.read(frame, to[at:at+img.pageSize]); err != nil {
				return fmt.Errorf("read page %d from the log: %w", page, err)
			}
		} else if at+img.pageSize > n {
			return fail("read", img.f.Name(), ErrCorrupt, "it ends before page %d, and its log does not have it", page)
		}
	}
	return nil
}

// chunk is how much is read and written at once. It is a multiple of every page
// size.
const chunk = 512 << 10

// writeTo copies the image to out and gives the SHA-256 of what was written.
// Reading, writing and hashing go on side by side, in constant memory.
// stop is asked before every chunk.
func (img *image) writeTo(ctx context.Context, out *os.File, m *meter, stop func() error) (string, error) {
	type block struct {
		b  []byte
		at int64
	}
	const blocks = 3
	free, read, written := make(chan []byte, blocks), make(chan block, blocks), make(chan block, blocks)
	for range blocks {
		free <- make([]byte, chunk)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(read)
		for at := int64(0); at < img.size(); at += chunk {
			var b []byte
			select {
			case <-ctx.Done():
				return ctx.Err()
			case b = <-free:
			}
			if err := stop(); err != nil {
				return err
			}
			if err := m.pace(ctx, at); err != nil {
				return err
			}
			b = b[:min(chunk, img.size()-at)]
			if err := img.read(uint32(at/int64(img.pageSize))+1, b); err != nil {
				return err
			}
			if at == 0 {
				b[18], b[19] = 1, 1 // see leaveWAL
			}
			read <- block{b, at}
		}
		return nil
	})
	g.Go(func() error {
		defer close(written)
		for blk := range read {
			if _, err := out.WriteAt(blk.b, blk.at); err != nil {
				return err
			}
			startWriteback(out, blk.at, int64(len(blk.b)))
			written <- blk
		}
		return nil
	})
	h := sha256.New()
	g.Go(func() error {
		for blk := range written {
			h.Write(blk.b)
			done := blk.at + int64(len(blk.b))
			m.at(done, img.size(), done/int64(img.pageSize))
			free <- blk.b[:chunk]
		}
		return nil
	})
	err := g.Wait()
	return hex.EncodeToString(h.Sum(nil)), err
}
