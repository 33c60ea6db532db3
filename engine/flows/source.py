"""Flow definitions by file or module: what `--flows` names (spec: FL-17)."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from dex.engine.flows.flow import Flow
from dex.wcl.errors import FlowDefinitionError
from dex.wcl.names import did_you_mean
from dex.wcl.shown import shown_error


def flows_of(source: str) -> list[Flow[Any] | type[Flow[Any]]]:
    """Give the Flows that `path/to/file.py`, `module` or `module:attr` defines, in their order.

    An attribute is a Flow's class, an instance, or a list of these.

    Raises:
        FlowDefinitionError: there is nothing of this name or no Flow in it, or it does not import, with `file` and
            `line` of the fault.
    """
    if source.endswith(".py") or "/" in source:
        return _defined(_file(Path(source).expanduser()), source)
    name, colon, attribute = source.partition(":")
    module = _module(name, source)
    return _named(module, attribute) if colon else _defined(module, source)


def _file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        problem = f"{path} is no file" if path.exists() else f"there is no file {path}"
        raise FlowDefinitionError(problem, "check the path", file=str(path))
    # The name is made of the path, so that two files flows.py are two modules and one file is imported once.
    name = f"dex_flows_{sha256(str(path).encode()).hexdigest()[:12]}_{path.stem}"
    if name in sys.modules:
        return sys.modules[name]
    _reach(path.parent)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FlowDefinitionError(f"{path} is no Python file", "name a file that ends in .py", file=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and annotations look their module up while it is imported
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a Flow file may raise anything
        del sys.modules[name]
        raise fault(error, str(path)) from error
    return module


def _module(name: str, source: str) -> ModuleType:
    _reach(Path.cwd())
    try:
        importlib.invalidate_caches()  # a file that was made a moment ago may not be known yet
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # as above
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            raise FlowDefinitionError(
                f"there is no module {name}", "name a file, or a module that Python finds from here", name=source
            ) from error
        raise fault(error, source) from error


def _reach(folder: Path) -> None:
    """Let Flow files import their neighbours, behind everything that is installed."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _defined(module: ModuleType, source: str) -> list[Flow[Any] | type[Flow[Any]]]:
    """Give the Flow classes that a module or its submodules define, leaving out those it imports from elsewhere."""
    found: list[Flow[Any] | type[Flow[Any]]] = [
        member
        for member in vars(module).values()
        if _is_flow_class(member) and f"{member.__module__}.".startswith(f"{module.__name__}.")
    ]
    if not found:
        raise FlowDefinitionError(f"{source} defines no Flow", "write a subclass of dex.Flow in it", name=source)
    return list(dict.fromkeys(found))


def _named(module: ModuleType, attribute: str) -> list[Flow[Any] | type[Flow[Any]]]:
    try:
        value = getattr(module, attribute)
    except AttributeError as error:
        remedy = did_you_mean(attribute, vars(module)) or "check the name after the colon"
        raise FlowDefinitionError(f"{module.__name__} has no {attribute}", remedy, name=attribute) from error
    found = list(value) if isinstance(value, Iterable) else [value]
    for item in found:
        if not (isinstance(item, Flow) or _is_flow_class(item)):
            raise FlowDefinitionError(
                f"{module.__name__}:{attribute} is no Flow", "name a Flow's class, an instance or a list of these"
            )
    return found


def _is_flow_class(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, Flow) and member is not Flow


def fault(error: BaseException, source: str) -> FlowDefinitionError:
    """Give the error for what the code of a source has raised, with `file` and `line` of the fault."""
    file, line = _place(error, source)
    problem = error.msg if isinstance(error, SyntaxError) else shown_error(error)
    return FlowDefinitionError(
        f"{file}, line {line}: {problem}", f"correct the file, since {source} does not import", file=file, line=line
    )


def _place(error: BaseException, source: str) -> tuple[str, int]:
    """Give the file and line of a fault: of the syntax error, or of the innermost line below the source's folder."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno or 1
    frames = [
        (frame.filename, frame.lineno or 1)
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen") and frame.filename != __file__
    ]
    folder = str(Path(source).parent) if source.endswith(".py") else str(Path.cwd())
    own = [place for place in frames if place[0].startswith(folder) and "site-packages" not in place[0]]
    return (own or frames or [(source, 1)])[-1]
