package engine_test

import (
	"testing"

	"github.com/stillpoint-dp/stillpoint/curator/internal/engine/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }
