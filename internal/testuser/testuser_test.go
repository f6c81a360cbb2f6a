package testuser_test

import (
	"os"
	"os/user"
	"strings"
	"testing"

	"sandbox/internal/testuser"
)

func TestBothRunsAsRootAndAsTheUserWithPrivateHomes(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		u, err := user.Current()
		if err != nil {
			t.Fatal(err)
		}
		asUser := strings.HasSuffix(t.Name(), "/user")
		if asUser == (u.Uid == "0") {
			t.Errorf("%s runs as %s", t.Name(), u.Username)
		}
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		if home == u.HomeDir {
			t.Errorf("HOME is the login's own, %s", home)
		}
		if err := os.WriteFile(home+"/probe", nil, 0o600); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(t.TempDir()+"/probe", nil, 0o600); err != nil {
			t.Error(err)
		}
	})
}

func TestBothInsideASubtest(t *testing.T) {
	t.Run("with (odd) name.*", func(t *testing.T) {
		testuser.Both(t, func(*testing.T) {})
	})
}
