package store

// CheckOwner refuses storage that belongs to somebody else: whoever owns it
// could exchange what an accept is about to read.
func (d Dir) CheckOwner() error { return checkOwner(d.Path()) }
