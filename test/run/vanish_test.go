package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sandbox/internal/testuser"
)

// Beside a mount every directory is planned for itself. Temporary ones come and
// go between the plan and the start.
func TestDirectoriesThatVanishDuringAStart(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts on the host; the tests run as root in CI")
	}
	u := testuser.Ensure(t)
	top, err := os.MkdirTemp("", "sbxtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := `set -e
		mount --make-rprivate /; chmod 755 .; cp "$1" t; chmod 755 t; mkdir -p home/p/mnt
		chown -R ` + u.Uid + ":" + u.Gid + ` home; cd home
		as() { setpriv --reuid ` + u.Uid + " --regid " + u.Gid + ` --clear-groups bash -c 'exec -a "$1" ../t "$PWD/.sandboxes" box "${@:2}"' bash "$@"; }
		mount -t tmpfs -o mode=1777 t p/mnt
		(while [ ! -e stop ]; do mkdir p/x1 p/x2 p/x3 p/x4; touch p/x1/f p/x3/f; rm -r p/x1 p/x2 p/x3 p/x4; done) &
		trap 'touch stop; wait' EXIT
		for round in $(seq 10); do as client sh -c 'echo ok > p/made'; as stop; done`
	c := exec.Command("unshare", "-m", "bash", "-c", script, "bash", self)
	c.Dir = top
	c.Env = append(os.Environ(), "HOME="+filepath.Join(top, "home"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
