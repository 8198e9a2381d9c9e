package session

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }
