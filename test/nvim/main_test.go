package nvim

import (
	"os"
	"testing"

	"sandbox/internal/testbin"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "rpc-host" {
		os.Exit(serveFake())
	}
	os.Exit(testbin.Main(m))
}
