package runfolder

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stillpoint-dp/stillpoint/internal/durable"
	"github.com/stillpoint-dp/stillpoint/internal/train"
)

// TestLinesOfEveryLength tests reading two lines whose lengths are near the size of the reader's buffer or
// near the largest allowed length of a line.
func TestLinesOfEveryLength(t *testing.T) {
	const buffer = 1 << 16
	const most = 3*buffer + 10
	for _, n := range []int{0, 1, buffer - 2, buffer - 1, buffer, buffer + 1, most} {
		first, second := strings.Repeat("a", n), strings.Repeat("b", n)
		for text, ends := range map[string]lineEnd{
			first + "\n" + second + "\n":                               newlined,
			first + "\n" + second + "\x00":                             padded,
			first + "\n" + second + strings.Repeat("\x00", 3*buffer+5): padded,
			first + "\n" + second + "\x00x":                            holed,
			first + "\n" + second:                                      missing,
		} {
			r := bufio.NewReaderSize(strings.NewReader(text), buffer)
			line, end, err := readLine(r, most)
			if err != nil || string(line) != first || end != newlined {
				t.Fatalf("first of two lines of %d bytes: read %d, end %v, error %v", n, len(line), end, err)
			}
			line, end, err = readLine(r, most)
			if err != nil || string(line) != second || end != ends {
				t.Fatalf("second of two lines of %d bytes: read %d, end %v for %v, error %v", n, len(line), end, ends, err)
			}
		}
	}
	long := strings.Repeat("a", most+2*buffer)
	if line, end, _ := readLine(bufio.NewReaderSize(strings.NewReader(long+"\n"), buffer), most); line != nil ||
		end != holed {
		t.Errorf("a line of %d bytes, where %d are allowed: read %d, end %v", len(long), most, len(line), end)
	}
}

// sized is a certificate's file that stores the largest number of bytes that was reserved for it.
type sized struct {
	durable.File
	size int64
}

func (s *sized) Reserve(size int64) error {
	s.size = max(s.size, size)
	return nil
}

// TestSpaceStaysAheadOfEvents adds events (charges) to a run's certificate one by one, more than the space
// reserved at first can hold. After each call of grow, the reserved space must be enough for all events so
// far and for spareEvents/2 (32) more.
func TestSpaceStaysAheadOfEvents(t *testing.T) {
	const head = 1000
	for _, steps := range []int{1, 100} {
		file := new(sized)
		p := &pair{certificate: file, size: head}
		if err := p.reserve(steps + spareEvents); err != nil {
			t.Fatal(err)
		}
		for events := range steps + 3*spareEvents + 5 {
			if err := p.grow(events); err != nil {
				t.Fatal(err)
			}
			if want := head + train.PerEvent*int64(events+spareEvents/2); file.size < want {
				t.Fatalf("%d steps, %d events: %d bytes are reserved: must be at least %d", steps, events, file.size, want)
			}
		}
	}
}
