"""Options that `fdch train` and `fdch tune` share: method, data, split, settings."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch.cli.options import DataName, PathName, device_option, refuse_broken
from fdch.cli.split_options import size_options, split_sizes
from fdch.cli.values import seed_option

if TYPE_CHECKING:
    from fdch.runs.pipeline import TrainingTask
    from fdch.tuning.settings_file import SettingsFile

_OPTIONS = (
    click.argument("data", type=DataName()),
    click.option(
        "--method", default="fdch", show_default=True, help="See 'fdch methods'."
    ),
    click.option("--bits", default=64, show_default=True, help="Length of the codes."),
    seed_option("Of the split and of learning."),
    click.option(
        "--split",
        type=PathName(),
        metavar="FILE",
        help="Use a saved split, such as another run's split.json.",
    ),
    size_options,
    click.option(
        "--groups",
        type=click.Choice(["pictures", "texts", "both"]),
        help="Keep pairs with the same picture, text or either in one part.",
    ),
    click.option(
        "--image-network",
        metavar="NAME",
        help="As --set image_network=NAME; a model folder as transformers:DIR.",
    ),
    click.option(
        "--set",
        "assignments",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change a setting, or take a preset: preset=paper. Repeatable.",
    ),
    refuse_broken,
    device_option,
)


def training_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument and the options that both commands have."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def build_task(
    data: str,
    assignments: tuple[str, ...],
    image_network: str | None,
    query_pairs: int | None,
    train_pairs: int | None,
    validation_pairs: int | None,
    file: "SettingsFile | None" = None,
    **same: Any,
) -> "TrainingTask":
    """Build the task from the options of a command.

    Args:
        data: As on the command line, like all that follows.
        assignments: Settings as "key=value".
        image_network: A setting with an option of its own.
        query_pairs: Queries to draw.
        train_pairs: Training pairs to draw.
        validation_pairs: How many of these are held out.
        file: Settings that count where the command line says nothing.
        same: What a TrainingTask has under the same names.
    """
    sizes = split_sizes(query_pairs, train_pairs, validation_pairs)
    if sizes is not None and same["split"]:
        raise click.UsageError("a saved --split has its sizes; leave theirs out.")
    if same["groups"] and same["split"]:
        raise click.UsageError("a saved --split has its groups; leave --groups out.")
    from fdch.methods._settings import parse_assignments
    from fdch.runs.pipeline import TrainingTask

    settings = parse_assignments(assignments)
    if twice := {"bits", "seed"} & set(settings):
        names = " and ".join(f"--{name}" for name in sorted(twice))
        raise click.UsageError(f"give {names} as an option, not with --set.")
    if file is not None and "preset" in settings:
        raise click.UsageError("a preset and --settings both state settings; give one.")
    if image_network is not None:
        settings["image_network"] = image_network
    if file is not None:
        settings = file.as_text() | settings
    return TrainingTask(data, settings=settings, sizes=sizes, **same)


def read_settings(path: Path, options: dict[str, Any]) -> "SettingsFile":
    """Read a settings file; its method and bits count where none were given."""
    from fdch.errors import SettingError
    from fdch.tuning.settings_file import SettingsFile

    found = SettingsFile.read(path)
    if not _is_given("method"):
        options["method"] = found.method
    if not _is_given("bits"):
        options["bits"] = found.bits
    if options["method"] != found.method:
        raise SettingError(
            f"settings file '{path}' is for {found.method}, not for "
            f"{options['method']}. Leave out --method, or tune that method."
        )
    return found


def _is_given(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is not click.core.ParameterSource.DEFAULT
