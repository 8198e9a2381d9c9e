package row_test

import (
	"errors"
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/row"
	"github.com/stillpoint-dp/stillpoint/curator/internal/row/rowtest"
	"github.com/stillpoint-dp/stillpoint/internal/targetpair"
)

// unread is a source whose file cannot be read back. Its readers read ahead if ahead is set.
type unread struct {
	row.Source
	ahead bool
}

func (u unread) Reader() row.Reader {
	if u.ahead {
		return failsAhead{}
	}
	return fails{}
}

type fails struct{}

func (fails) Block(int) (row.Block, error)   { return row.Block{}, row.ErrUnread }
func (fails) Rows(*row.Block, []int32) error { return row.ErrUnread }

type failsAhead struct{ fails }

func (failsAhead) BlockAhead(int, int) (row.Block, error) { return row.Block{}, row.ErrUnread }

// TestChangedReadersReportWhatIsUnread: rows that are changed when they are read are an error if they cannot be read, and
// are read ahead if the source's are.
func TestChangedReadersReportWhatIsUnread(t *testing.T) {
	table := rowtest.Table(t, rowtest.Dense(3), 2, nil)
	for _, ahead := range []bool{false, true} {
		of := unread{table, ahead}
		for name, source := range map[string]row.Source{"timed": row.NewTimed(of, targetpair.Times{Cuts: []float64{1}}), "scaled": row.NewScaled(of, .5)} {
			r := source.Reader()
			if _, err := r.Block(0); !errors.Is(err, row.ErrUnread) {
				t.Errorf("%s: a block: %v", name, err)
			}
			if err := r.Rows(new(row.Block), []int32{0}); !errors.Is(err, row.ErrUnread) {
				t.Errorf("%s: rows: %v", name, err)
			}
			a, ok := r.(row.Ahead)
			if ok != ahead {
				t.Fatalf("%s: reads ahead: %v", name, ok)
			}
			if ok {
				if _, err := a.BlockAhead(0, 1); !errors.Is(err, row.ErrUnread) {
					t.Errorf("%s: a block ahead: %v", name, err)
				}
			}
		}
	}
}
