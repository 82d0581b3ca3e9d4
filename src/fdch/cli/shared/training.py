"""What `fdch train` and `fdch tune` share: method, data, split, settings."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fdch import methods
from fdch.cli.shared import options
from fdch.cli.shared.options import PATH, option

if TYPE_CHECKING:
    from fdch.runs.pipeline import TrainingTask
    from fdch.tuning.settings_file import SettingsFile

method_option = option("--method", "See 'fdch methods'.", default=methods.DEFAULT)
training_options = options.combine(
    options.data,
    method_option,
    option("--bits", "Length of the codes.", default=64),
    options.seed("Of the split and of learning."),
    option(
        "--split FILE", "Use a saved split, such as another run's split.json.", PATH
    ),
    options.sizes,
    option(
        "--groups",
        "Keep pairs with the same picture, text or either in one part.",
        ["pictures", "texts", "both"],
    ),
    option(
        "--image-network NAME",
        "As --set image_network=NAME; a model folder as transformers:DIR.",
    ),
    options.settings,
    options.layout,
    options.refuse_broken,
    options.device,
)


def build_task(
    data: str,
    assignments: tuple[str, ...],
    image_network: str | None,
    sizes: "options.SplitSizes | None",
    file: "SettingsFile | None" = None,
    **same: Any,
) -> "TrainingTask":
    """Build the task from the options of a command, which are given by their names.

    Settings of a file count where the command line says nothing.
    """
    if same.get("use_all") and (sizes is not None or same["split"]):
        raise click.UsageError("--use-all learns from all pairs; leave out the split.")
    if sizes is not None and same["split"]:
        raise click.UsageError("a saved --split has its sizes; leave theirs out.")
    if same["groups"] and same["split"]:
        raise click.UsageError("a saved --split has its groups; leave --groups out.")
    from fdch.methods._settings.assignments import parse_assignments
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


def read_settings(path: Path, given: dict[str, Any]) -> "SettingsFile":
    """Read a settings file; its method and bits count where none were given."""
    from fdch.errors import SettingError
    from fdch.tuning.settings_file import SettingsFile

    found = SettingsFile.read(path)
    context, default = click.get_current_context(), click.core.ParameterSource.DEFAULT
    for name in ("method", "bits"):
        if context.get_parameter_source(name) is default:
            given[name] = getattr(found, name)
    if given["method"] != found.method:
        raise SettingError(
            f"settings file '{path}' is for {found.method}, not for "
            f"{given['method']}. Leave out --method, or tune that method."
        )
    return found
