"""The command ``assay``: which subcommand runs, and how its outcome becomes an exit code.

Subcommands load only when they run, so that ``assay --help`` answers at once. Each module named in ``_COMMANDS``
holds one click command called ``command``. Exit codes are those of ``assay.core.errors``.
"""

import os
import sys
from importlib import import_module
from typing import Any

import click

from assay import __version__
from assay.core.errors import EXIT_BAD_INPUT, EXIT_ENVIRONMENT, EXIT_FIT, EXIT_INTERRUPTED, AssayError, did_you_mean

# Name, module below assay.cli, and the line of the help page, which is repeated here so that help imports nothing.
_COMMANDS: dict[str, tuple[str, str]] = {
    "select": ("select", "From a profile to a decision and a report: every stage in order, resumable."),
    "profile": ("profile", "Check a workload profile, or print its JSON Schema."),
    "shortlist": ("shortlist", "Which engines can serve the profile, which can't, and why."),
    "size": ("size", "Will each candidate fit in memory?"),
    "plan": ("plan", "Which trials will run, in which order, for how long."),
    "run": ("run", "Run the planned trials on real engines; goes on where it stopped."),
    "decide": ("decide", "Which candidate, how surely, and what would change that."),
    "report": ("report", "Write the run's report as one HTML file."),
    "load": ("load", "Send a load to a running server and measure every request."),
    "engines": ("engines", "List, install, check and remove inference engines."),
}
_DEBUG_VARIABLE = "ASSAY_DEBUG"


class _LazyGroup(click.Group):
    """A group whose subcommands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = import_module(f"assay.cli.{_COMMANDS[cmd_name][0]}").command
        assert isinstance(command, click.Command)  # noqa: S101 - a programming error, not input.
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in _COMMANDS:
            hint = did_you_mean(args[0], _COMMANDS) or "see 'assay --help'"
            raise click.UsageError(f"unknown command '{args[0]}'; {hint}", ctx)
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from assay.core.provenance import tool_commit

    commit = tool_commit()
    click.echo(f"assay {__version__}" + (f" (commit {commit})" if commit else ""))
    ctx.exit()


@click.command(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def group() -> None:
    """Choose, prove and pin an LLM inference engine, with evidence for every step.

    \b
    Start here:
      assay select examples/chat-cpu.yaml

    Exit codes: 0 fit, 1 a gate or requirement failed, 2 bad input, 3 the environment failed, 4 inconclusive.
    """


def main() -> None:
    """Run the command line and exit with the outcome's code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; every expected failure is printed as its message alone."""
    try:
        outcome: Any = group.main(args=arguments, prog_name="assay", standalone_mode=False)
    except click.UsageError as error:
        _complain(error.format_message(), hint=_help_hint(error))
        return EXIT_BAD_INPUT
    except click.ClickException as error:
        _complain(error.format_message())
        return EXIT_BAD_INPUT
    except AssayError as error:
        for problem in error.problems:
            _complain(problem.render())
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted; finished work is kept, run the same command again to go on")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return EXIT_FIT
    except Exception as error:
        return _report_defect(error)
    return outcome if isinstance(outcome, int) else EXIT_FIT


def _complain(text: str, *, hint: str | None = None) -> None:
    click.echo(f"assay: {text}" + (f"; {hint}" if hint else ""), err=True)


def _help_hint(error: click.UsageError) -> str | None:
    return f"see '{error.ctx.command_path} --help'" if error.ctx else None


def _silence_stdout() -> None:
    """Keep the interpreter from complaining at exit when the reader of our output has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report_defect(error: Exception) -> int:
    if os.environ.get(_DEBUG_VARIABLE):
        raise error
    _complain(
        f"a defect in assay: {type(error).__name__}: {error}; set {_DEBUG_VARIABLE}=1 and run again for the details,"
        " then please report it"
    )
    return EXIT_ENVIRONMENT
