// Package rplugin is the process that Neovim talks to: `sandbox rpc-host`.
//
// It is thin. Lua sends one notification for one wish of the user,
//
//	rpcnotify(channel, "call", id, method, args)
//
// the wish is carried out by package engine in its own goroutine, and the
// answer goes back as one call of require('sandbox.rpc').done(id, err, result).
// Nothing is asked of the editor in between, so a prompt that keeps the editor
// busy holds up no operation of the engine. The only request that the editor
// waits for is "hello", which touches no disk.
//
// It is a plain msgpack-RPC client that Lua starts on first use, and no
// registered remote plugin: `:UpdateRemotePlugins` asks a host for "specs",
// which the Go client never answered, and a registered host that died stays
// dead for the rest of the editor's life.
package rplugin
