// Package overlay knows OverlayFS: how a layer is mounted, and how deletions
// and replaced directories are written in an upper layer. The source of its
// facts is the kernel's Documentation/filesystems/overlayfs.rst.
package overlay

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"sandbox/engine/mount"
)

// The xattr prefixes of the two ways to mount.
const (
	UserXattr    = "user.overlay."    // mode U, option userxattr
	TrustedXattr = "trusted.overlay." // mode P
)

// Spec is one overlay to mount. All fields are open directories (O_PATH).
type Spec struct {
	Target string // for error texts: where it will stand in the sandbox
	Lowers []int  // topmost first
	Upper  int    // -1: a read-only overlay, which needs two lowers
	Work   int
	User   bool // mounted in a user namespace: userxattr
}

// Mount returns the detached mount.
//
// Device nodes in the layers cannot be opened: root's commands own those of a
// chroot or a container image on the host, and opening one needs no capability.
//
// Both modes mount volatile: without it each copy-up calls fsync, which made a
// program that edits 500 files 12 times slower. What that costs after a power
// cut is in doc/limits.md; the keeper and stop call syncfs.
func Mount(s Spec) (int, error) {
	c, err := mount.Open("overlay", s.Target)
	if err != nil {
		return -1, err
	}
	defer c.Close()
	if err := layers(c, s); err != nil {
		return -1, err
	}
	for _, o := range options(s) {
		if o.value == "" {
			err = c.Flag(o.key)
		} else {
			err = c.String(o.key, o.value)
		}
		if err != nil {
			return -1, err
		}
	}
	return c.Make(unix.MOUNT_ATTR_NODEV)
}

func layers(c *mount.Context, s Spec) error {
	if err := lowers(c, s.Lowers); err != nil {
		return err
	}
	if s.Upper < 0 {
		return nil
	}
	if err := c.Layer("upperdir", s.Upper); err != nil {
		return err
	}
	return c.Layer("workdir", s.Work)
}

// lowers sets the lower layers. Kernels before 6.8 do not know lowerdir+; for
// them all layers go into one string, as paths that hold no colon.
func lowers(c *mount.Context, fds []int) error {
	for i, l := range fds {
		err := c.Layer("lowerdir+", l)
		if err == nil {
			continue
		}
		if i > 0 {
			return err
		}
		paths := make([]string, len(fds))
		for j, fd := range fds {
			paths[j] = fmt.Sprintf("/proc/self/fd/%d", fd)
		}
		return c.String("lowerdir", strings.Join(paths, ":"))
	}
	return nil
}

type option struct{ key, value string }

// options are those of research section 1.4: userxattr is required without
// privilege (else directories over whiteouts give EIO), and excludes
// redirect_dir; with privilege a renamed directory keeps its content by a
// redirect, and index and metacopy are off because they write xattrs that the
// scanner would have to chase.
func options(s Spec) []option {
	common := []option{{"source", "sandbox"}}
	if s.Upper >= 0 {
		common = append(common, option{"volatile", ""})
	}
	if s.User {
		return append(common, option{"userxattr", ""})
	}
	if s.Upper < 0 {
		return common
	}
	return append(common, option{"redirect_dir", "on"}, option{"index", "off"}, option{"metacopy", "off"})
}
