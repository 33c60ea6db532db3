"""Types into the real shell on a real terminal, and shows the screen that a person would see. Part of `make demo`."""

import sys

import pexpect
import pyte

LINES, COLUMNS = 40, 110
TYPED = (
    ("SHOW", "  -> "),
    ("STATESTORES;", "dex> "),
    ("store get demo.people user-1", "dex> "),
    ("DROP STATESTOR demo.people;", "dex> "),
    (r"\timing", "dex> "),
    ("store get-by demo.people department eng", "dex> "),
)


def main() -> int:
    """Type each line once its prompt is there, then print the screen."""
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.Stream(screen)
    shell = pexpect.spawn("dex", encoding="utf-8", dimensions=(LINES, COLUMNS), timeout=20)
    wait_for(shell, stream, screen, "dex> ")
    for line, prompt in TYPED:
        shell.send(line + "\r")
        wait_for(shell, stream, screen, prompt)
    sys.stdout.write("\n".join(f"  | {row.rstrip()}" for row in screen.display if row.strip()) + "\n")
    shell.sendeof()
    shell.expect(pexpect.EOF)
    return 0


def wait_for(shell: "pexpect.spawn[str]", stream: pyte.Stream, screen: pyte.Screen, prompt: str) -> None:
    """Feed the screen until its last line of text is the prompt, with nothing typed after it."""
    while True:
        stream.feed(shell.read_nonblocking(4096, timeout=20))
        row = screen.display[screen.cursor.y]
        if row.startswith(prompt) and screen.cursor.x == len(prompt):
            return


if __name__ == "__main__":
    sys.exit(main())
