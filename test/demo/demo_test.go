package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandbox/internal/nvimtest"
	"sandbox/internal/testbin"
	"sandbox/internal/testuser"
)

func TestMain(m *testing.M) { os.Exit(testbin.Main(m)) }

// start is a project that the agent has edited in a sandbox.
func start(t *testing.T) *demo {
	t.Helper()
	d, err := prepare(nvimtest.Root(t), testbin.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.clean(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(d.work); !os.IsNotExist(err) {
			t.Errorf("the demo left its folder: %v", err)
		}
	})
	if err := d.letTheAgentWork(); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDemoWithoutATerminal(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		if err := start(t).acceptOneBlock(); err != nil {
			t.Fatal(err)
		}
	})
}

// The demo must not say "accepted" when the host did not get the block.
func TestDemoFailsWhenItsClaimIsFalse(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		d := start(t)
		if err := d.checkTheBlock(); err == nil {
			t.Error("nothing was accepted, and the demo is content")
		}
		program := filepath.Join(d.project, "todo.py")
		for path, data := range map[string]string{
			program:                           strings.Replace(string(d.before[program]), "FILE = \"todo.txt\"\n", "FILE = \"todo.txt\"\nMOTTO = \""+d.word+"\"\n", 1),
			filepath.Join(d.project, "stray"): "x",
		} {
			if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.checkTheBlock(); err == nil {
			t.Error("another file is on the host too, and the demo is content")
		}
	})
}

// The review as a user sees it: the real plugin, the real binary, a real sandbox.
// With SANDBOX_PICTURE set, the screen is drawn into that file (make picture).
func TestTheReviewShowsWhatTheAgentDid(t *testing.T) {
	testuser.Both(t, func(t *testing.T) {
		nvimtest.Each(t, func(t *testing.T, version string) {
			d := start(t)
			e := nvimtest.Start(t, nvimtest.Version(version), nvimtest.Plugin(), nvimtest.Size(120, 26),
				nvimtest.Home(os.Getenv("HOME")), nvimtest.Dir(d.project),
				nvimtest.Env("SANDBOX_STORAGE_DIR="+d.storage, "SANDBOX_TEST_BINARY="+d.binary),
				nvimtest.Init("vim.g.sandbox = { bin = os.getenv('SANDBOX_TEST_BINARY') }; vim.o.hlsearch = false; vim.g.loaded_python3_provider = 0"))
			e.Command("SandboxReview " + name)
			e.WaitFor("the panel", nvimtest.Contains("todo.py", "export.py", "NOTES.txt"))
			e.Input("<C-w>t/todo.py<CR><CR>")
			e.WaitFor("the block with the made-up word, as an added line", nvimtest.Highlighted(d.word, "DiffAdd"))
			e.Command("echo ''")
			s := e.WaitFor("an empty command line", func(s *nvimtest.Screen) bool { return s.Line(s.Height-1) == "" })
			if path := os.Getenv("SANDBOX_PICTURE"); path != "" && version == nvimtest.Versions[1] && os.Geteuid() == 0 {
				if err := s.WritePNG(path, nvimtest.Fonts(), 15); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}
