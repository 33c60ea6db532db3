"""The shell: read, execute, print (spec: P-01)."""

import os
import signal
import sys
import time
from functools import cached_property
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.output import ColorDepth, create_output
from prompt_toolkit.renderer import CPR_Support

from dex import __version__
from dex.cli import app
from dex.cli.color import wants_color
from dex.cli.deadline import Expired
from dex.cli.exits import DONE, conclude, warn
from dex.cli.session import Host, Session
from dex.cli.shell.completer import ShellCompleter
from dex.cli.shell.editor import edit
from dex.cli.shell.history import open_history
from dex.cli.shell.input import arguments_of, inputs_of, is_wcl_alone, is_whole, kind_of, statement_to_edit
from dex.cli.shell.lexer import ShellLexer
from dex.cli.shell.meta import run_meta
from dex.cli.shell.names import LiveNames, target_exists
from dex.cli.shell.results import Results
from dex.cli.shell.toolbar import target_text, toolbar_text
from dex.cli.values import read_text
from dex.wcl.commands import Freshness, ShowFreshness
from dex.wcl.errors import DexError, InputError

PROMPT: StyleAndTextTuples = [("ansicyan", "dex> ")]
CONTINUATION: StyleAndTextTuples = [("ansicyan", "  -> ")]
_TARGET = ("data-dir", "endpoint", "token", "config", "context", "flows")


class Shell:
    """One shell: its session, whose engine every command shares, and what the person has set.

    `last` is the last statement or command and `code` how it ended, `draft` what the next prompt starts with.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.results = Results(session.note)
        self.form: str = session.form
        self.timing = False
        self.leaving = False
        self.last = ""
        self.code = DONE
        self.draft = ""
        self._including: list[str] = []
        self._freshness: Freshness | None = None
        self._names = LiveNames(session)

    def run(self) -> int:
        """Serve the person until they leave, and give the exit code."""
        # The time limit is for each command, and not for the shell.
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.note(rf"dex {__version__}: \? for help, Ctrl-D to leave")
        while not self.leaving:
            try:
                self.execute(self._read())
            except KeyboardInterrupt:
                continue
            except EOFError:
                break
        self.results.close()
        return DONE

    def execute(self, text: str) -> None:
        """Carry out one input; an error is written and nothing else comes of it."""
        kind = kind_of(text)
        unfinished = statement_to_edit(text)
        try:
            if unfinished is not None:
                self.draft = edit(unfinished)
            elif kind == "meta":
                run_meta(self, text)
            elif kind != "blank":
                self.last = text.strip()
                self.run_command(arguments_of(text))
        except Exception as error:  # noqa: BLE001 - no error ends the shell
            self.code = conclude(error, self.session.style)

    def include(self, file: str) -> None:
        """Carry out a file: as `batch` does where it has WCL alone, or else as `run_lines`.

        Raises:
            InputError: it cannot be read, or is being carried out already.
        """
        if os.path.realpath(file) in self._including:
            raise InputError(f"{file} includes itself", "leave that line out", file=file)
        text = read_text(file) if Path(file).exists() else ""
        if is_wcl_alone(text):
            self.run_command(["batch", "--", file])  # which also knows patterns, and what to say of a missing file
        else:
            self.run_lines(file, text)

    def run_lines(self, file: str, text: str) -> int:
        """Carry out a file's text as if each line were typed, up to one that fails, and give the exit code of that."""
        self._including.append(os.path.realpath(file))
        self.code = DONE
        for line, entered in inputs_of(text):
            self.execute(entered)
            if self.code != DONE:
                stopped = f"{file}:{line}: this failed, and nothing after it was run"
                warn(DexError(stopped, file=file, line=line), self.session.style)
            if self.code != DONE or self.leaving:
                break
        self._including.pop()
        return self.code

    def run_command(self, arguments: list[str]) -> None:
        """Run a command line of `dex` on the shell's engine, and write its error if it has one."""
        if arguments[:1] in ([], ["shell"]):
            raise InputError("this is the shell already", r"\? shows what can be typed")
        host = Host(self._flags(), self.session.engine)
        start = time.perf_counter()
        try:
            with self.results.open():
                self.code = app.run(arguments, host)
        except BrokenPipeError:
            pass  # the person has left the pager
        except (Exception, KeyboardInterrupt, Expired) as error:  # noqa: BLE001 - as above
            if isinstance(error, KeyboardInterrupt):
                sys.stderr.write("\n")  # the terminal has shown ^C in the middle of a line
            self.code = conclude(error, host.style or self.session.style)
        if self.timing:
            self.note(f"{time.perf_counter() - start:.3f} s")

    def note(self, text: str) -> None:
        """Tell the person something that is no result."""
        self.session.note(text)

    @property
    def mode(self) -> str:
        """The editing mode, vi or emacs."""
        return "vi" if self._prompt.editing_mode == EditingMode.VI else "emacs"

    @mode.setter
    def mode(self, mode: str) -> None:
        self._prompt.editing_mode = EditingMode.VI if mode == "vi" else EditingMode.EMACS

    def _flags(self) -> dict[str, Any]:
        """Give the global options that commands run under, as if each had been given them."""
        if self.session.form_is_explicit or self.form != self.session.form or self.results.path is not None:
            return {**self.session.flags, "output": self.form}
        return self.session.flags

    def _read(self) -> str:
        """Read one input."""
        self._names.forget()
        self._freshness = self._ask_freshness()
        draft, self.draft = self.draft, ""
        return self._prompt.prompt(default=draft, pre_run=self._show_bar_at_once)

    def _show_bar_at_once(self) -> None:
        """Let the bar be drawn before the terminal has told where the cursor is, which some terminals never do."""
        renderer = self._prompt.app.renderer
        if renderer.cpr_support != CPR_Support.SUPPORTED:
            renderer._min_available_height = 1  # noqa: SLF001 - nothing public says so

    @cached_property
    def _prompt(self) -> PromptSession[str]:
        """The prompt, which nobody needs who only has a file carried out."""
        color = wants_color(self.session.settings["color"], sys.stdout, os.environ)
        options = [f"--{name}={self.session.flags[name]}" for name in _TARGET if name in self.session.flags]
        prompt: PromptSession[str] = PromptSession(
            PROMPT,
            prompt_continuation=CONTINUATION,
            multiline=Condition(lambda: not is_whole(get_app().current_buffer.document.text)),
            history=open_history(os.environ, self.note),
            # Offered on Tab only: a Tab that comes while offers are being made is lost.
            complete_while_typing=False,
            completer=ShellCompleter(self._names, options),
            lexer=ShellLexer(),
            bottom_toolbar=self._toolbar,
            color_depth=None if color else ColorDepth.DEPTH_1_BIT,
            search_ignore_case=True,
            enable_open_in_editor=True,
            tempfile_suffix=".wcl",
            enable_suspend=True,
            # Results may go to a file while the person types on.
            output=None if sys.stdout.isatty() or not sys.stderr.isatty() else create_output(sys.stderr),
        )
        prompt.app.renderer.cpr_not_supported_callback = None
        return prompt

    def _toolbar(self) -> str:
        mode = self.mode
        if mode == "vi":
            mode += " insert" if get_app().vi_state.input_mode == InputMode.INSERT else " normal"
        target = target_text(self.session.endpoint, self.session.settings["data-dir"])
        return toolbar_text(target, self._freshness, mode, self.results.path)

    def _ask_freshness(self) -> Freshness | None:
        """Ask the target how current it is; one that is not there yet is not made."""
        try:
            return self.session.engine.execute(ShowFreshness()) if target_exists(self.session) else None
        except DexError:
            return None
