from __future__ import annotations

from dray.api.yaml.errors import ManifestError


def test_an_error_says_file_line_and_column_as_far_as_known() -> None:
    error = ManifestError("not YAML", 3, 7)
    assert str(error) == "3:7: not YAML"
    assert str(error.in_file("a.yaml")) == "a.yaml:3:7: not YAML"
    assert str(ManifestError("not YAML", 3).in_file("a.yaml")) == "a.yaml:3: not YAML"
    assert str(ManifestError("cannot be read").in_file("a.yaml")) == "a.yaml: cannot be read"
    assert str(ManifestError("cannot be read")) == "cannot be read"
