"""A command line that is being typed, cut into words as a shell would."""


def split_line(line: str) -> list[str]:
    """Give the words, unquoted; the last one is the word at the cursor, empty after a blank.

    A quote that is still open is taken to go to the end.
    """
    words: list[str] = [""]
    quote = ""
    fresh = True
    position = 0
    while position < len(line):
        character = line[position]
        position += 1
        if character == "\\" and quote != "'" and position < len(line):
            words[-1] += line[position]
            position += 1
            fresh = False
        elif quote:
            if character == quote:
                quote = ""
            else:
                words[-1] += character
        elif character in "'\"":
            quote = character
            fresh = False
        elif character in " \t\n":
            if not fresh:
                words.append("")
            fresh = True
        else:
            words[-1] += character
            fresh = False
    return words
