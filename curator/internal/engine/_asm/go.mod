module github.com/stillpoint-dp/stillpoint/curator/internal/engine/gen

go 1.26

require github.com/mmcloughlin/avo v0.5.0

require (
	golang.org/x/mod v0.6.0 // indirect
	golang.org/x/sys v0.1.0 // indirect
	golang.org/x/tools v0.2.0 // indirect
)

require github.com/stillpoint-dp/stillpoint/internal/repromath/gen v0.0.0

replace github.com/stillpoint-dp/stillpoint/internal/repromath/gen => ../../../../internal/repromath/_asm
