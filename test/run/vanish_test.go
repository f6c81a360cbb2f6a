package run

import "testing"

// Beside a mount every directory is planned for itself. Temporary ones come and
// go between the plan and the start.
func TestDirectoriesThatVanishDuringAStart(t *testing.T) {
	withMounts(t, `
		user 'mkdir -p p/mnt'
		mount -t tmpfs -o mode=1777 t p/mnt
		(while [ ! -e end ]; do mkdir p/x1 p/x2 p/x3 p/x4; touch p/x1/f p/x3/f; rm -r p/x1 p/x2 p/x3 p/x4; done) &
		trap 'touch end; wait' EXIT
		for round in $(seq 10); do box 'echo ok > p/made'; stop; done`)
}
