"""Column names from Attribute names (spec: Y-09)."""


def snake_case(name: str) -> str:
    """Give a name in snake_case: `DeploymentURL` is `deployment_url`, `S3Bucket` is `s3_bucket`.

    An underscore goes before an upper-case letter that follows a lower-case letter or a digit, or that ends an
    acronym before a lower-case letter.
    """
    words = [
        f"_{letter}" if at and letter.isupper() and _begins_word(name, at) else letter for at, letter in enumerate(name)
    ]
    return "".join(words).lower()


def _begins_word(name: str, at: int) -> bool:
    before, after = name[at - 1], name[at + 1 : at + 2]
    return before.islower() or before.isdigit() or (before.isupper() and after.islower())
