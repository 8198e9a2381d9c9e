# The commands that everybody needs. All but `lab` need Go alone.
.PHONY: build test quick check face lab

build: ## the command, one static file
	CGO_ENABLED=0 go build ./cmd/stillpoint
test: ## the default tests
	go test ./...
quick: ## the quick tests
	go test -short ./...
check: ## all that a change must pass
	bash .ci/run
face: ## the public face: make face NOTE='the sentence of CHANGELOG.md'
	go run ./tools/face -note '$(NOTE)'
lab: ## the quick tests of the laboratory
	cd lab && go test -short ./...
