"""Tables on a terminal: the same rows for every stage that prints one."""

from collections.abc import Iterable, Sequence


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: frozenset[int] = frozenset()) -> None:
    """Print rows under column titles; ``right`` names the columns of numbers."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    # Rich's width of 80 for pipes would fold file names; a log has room.
    console = Console(width=None if Console().is_terminal else 160)
    console.print(table)


def print_json(value: object) -> None:
    """Print a dataclass as JSON."""
    import click
    from pydantic import TypeAdapter

    click.echo(TypeAdapter(type(value)).dump_json(value, indent=2).decode())
