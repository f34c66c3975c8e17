"""Print the lowest versions that pyproject.toml names, as constraints for pip."""

import pathlib
import re
import tomllib

text = (pathlib.Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
project = tomllib.loads(text)["project"]
extras = project["optional-dependencies"]
for line in [*project["dependencies"], *(line for extra in extras.values() for line in extra)]:
    if found := re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line):
        print(f"{found[1]}=={found[2]}")
