// Package nvim holds the tests of what a user sees in Neovim: a child editor of
// each supported version is driven by keys, and the bytes on both sides and the
// text on the screen are compared.
//
// The stories use the real binary and real sandboxes. What a real engine cannot
// be made to do at will (die in the middle of a call, be of another protocol) is
// tested with a host process that this package's test binary plays.
package nvim
