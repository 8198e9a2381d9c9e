package train

// comments are the doc comments of settings, written by
//
//	go test ./internal/train -run TestHelpIsTheComments -rewrite
var comments = map[string]string{}
