package nvim

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "rpc-host" {
		os.Exit(serveFake())
	}
	os.Exit(m.Run())
}
