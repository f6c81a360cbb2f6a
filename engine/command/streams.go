// Package command runs one command in a sandbox on behalf of a caller: its
// streams, its terminal, its signals and its exit code are the caller's.
package command

import (
	"golang.org/x/sys/unix"

	"sandbox/engine/control"
	"sandbox/engine/fault"
)

// streams decides where the command's 0, 1 and 2 go and starts the relays.
//
// Only what names nothing is passed as it is: pipes and sockets. A regular
// file, a directory or a device would be a way to the host (through
// /proc/self/fd a program can open it again for writing), so it is relayed
// through a pipe. A terminal is replaced by the sandbox's own.
type streams struct {
	kinds  [3]control.Stream
	passed []int // for the Passed ones, in order
	made   []int // the command's ends of our pipes, closed after the start
	input  *input
	output []*output
	tty    bool
}

func classify(fds [3]int) (*streams, error) {
	s := &streams{}
	for i, fd := range fds {
		if err := s.add(i, fd); err != nil {
			s.closeMade()
			return nil, err
		}
	}
	return s, nil
}

func (s *streams) add(i, fd int) error {
	var st unix.Stat_t
	if fd < 0 || unix.Fstat(fd, &st) != nil {
		s.kinds[i] = control.Null
		return nil //nolint:nilerr // a stream that is not there is an empty one
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO, unix.S_IFSOCK:
		s.pass(i, fd)
		return nil
	case unix.S_IFCHR:
		if isTerminal(fd) {
			s.kinds[i], s.tty = control.Terminal, true
			return nil
		}
		if unix.Major(st.Rdev) == 1 && unix.Minor(st.Rdev) == 3 { // /dev/null
			s.kinds[i] = control.Null
			return nil
		}
	}
	return s.relay(i, fd, st.Mode&unix.S_IFMT == unix.S_IFREG)
}

func (s *streams) pass(i, fd int) {
	s.kinds[i] = control.Passed
	s.passed = append(s.passed, fd)
}

func (s *streams) relay(i, fd int, regular bool) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return fault.Wrap(fault.Failed, "make a pipe", "", err)
	}
	if i == 0 {
		s.made = append(s.made, p[0])
		s.pass(i, p[0])
		s.input = newInput(fd, p[1], p[0], regular)
		return nil
	}
	s.made = append(s.made, p[1])
	s.pass(i, p[1])
	s.output = append(s.output, newOutput(p[0], fd, 0))
	return nil
}

// begin starts the relays once the command has its ends.
func (s *streams) begin() {
	s.closeMade()
	if s.input != nil {
		go s.input.run()
	}
	for _, o := range s.output {
		go o.run()
	}
}

func (s *streams) closeMade() {
	for _, fd := range s.made {
		_ = unix.Close(fd)
	}
	s.made = nil
}

// finish is called after the command has ended.
func (s *streams) finish() {
	for _, o := range s.output {
		o.finish()
	}
	if s.input != nil {
		s.input.giveBack()
	}
}
