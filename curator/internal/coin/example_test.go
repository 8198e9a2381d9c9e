package coin_test

import (
	"fmt"

	"github.com/stillpoint-dp/stillpoint/curator/internal/coin"
)

func Example() {
	secret, err := coin.NewSecret()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", struct{ Noise *coin.Secret }{secret})

	simulated := coin.Simulated([32]byte([]byte("ABCDEFGHIJKLMNOPQRSTUVWXYZ123456")))
	fmt.Println(simulated.Perm(10))
	// Output:
	// {Noise:coin.Secret{redacted}}
	// [7 1 6 2 8 5 3 4 9 0]
}
