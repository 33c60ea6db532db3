"""From Lark's tokens to the AST, one method for each rule of the grammar."""

from typing import Any, TypeAlias

from lark import Token, Transformer

from dex.wcl import ast
from dex.wcl.lexemes import unquote

# The children of a rule: tokens, nodes, and None for each optional part that is not there.
Children: TypeAlias = list[Any]


class AstBuilder(Transformer[Token, list[ast.Statement]]):
    """Builds the AST while Lark parses, so that no tree is made on the way."""

    def start(self, children: Children) -> list[ast.Statement]:
        return [child for child in children if child is not None and not isinstance(child, Token)]

    def define_state_store(self, children: Children) -> ast.DefineStateStore:
        verb, _, condition, _, _, name, feed, keys = children
        end = keys[-1].place.end if keys else (feed or name).end_pos
        return ast.DefineStateStore(
            unquote(name),
            unquote(feed) if feed else None,
            tuple(keys or ()),
            condition is not None,
            _place(verb, end),
        )

    def drop_state_store(self, children: Children) -> ast.DropStateStore:
        verb, _, condition, _, name = children
        return ast.DropStateStore(unquote(name), condition is not None, _place(verb, name.end_pos))

    def describe_state_store(self, children: Children) -> ast.DescribeStateStore:
        verb, _, name = children
        return ast.DescribeStateStore(unquote(name), _place(verb, name.end_pos))

    def show_state_stores(self, children: Children) -> ast.ShowStateStores:
        verb, noun = children
        return ast.ShowStateStores(_place(verb, noun.end_pos))

    def define_feed(self, children: Children) -> ast.DefineFeed:
        verb, _, condition, _, _, name = children
        return ast.DefineFeed(unquote(name), condition is not None, _place(verb, name.end_pos))

    def drop_feed(self, children: Children) -> ast.DropFeed:
        verb, _, condition, _, name = children
        return ast.DropFeed(unquote(name), condition is not None, _place(verb, name.end_pos))

    def describe_feed(self, children: Children) -> ast.DescribeFeed:
        verb, _, name = children
        return ast.DescribeFeed(unquote(name), _place(verb, name.end_pos))

    def show_feeds(self, children: Children) -> ast.ShowFeeds:
        verb, noun = children
        return ast.ShowFeeds(_place(verb, noun.end_pos))

    def from_feed(self, children: Children) -> Token:
        name: Token = children[2]
        return name

    def keys(self, children: Children) -> list[ast.Key]:
        return children[1::2]

    def key(self, children: Children) -> ast.Key:
        name, _, extractor, unique = children
        end = unique.end_pos if unique else extractor.place.end if extractor else name.end_pos
        return ast.Key(unquote(name), extractor, unique is not None, _place(name, end))

    def metadata(self, children: Children) -> ast.Metadata:
        word, text = children
        return ast.Metadata(_unquote_string(text), _place(word, text.end_pos))

    def json(self, children: Children) -> ast.Json:
        word, text = children
        return ast.Json(_unquote_string(text), _place(word, text.end_pos))

    def record_key(self, children: Children) -> ast.RecordKey:
        return ast.RecordKey(_place(children[0], children[0].end_pos))


def _place(first: Token, end: int) -> ast.Place:
    return ast.Place(first.line, first.column, first.start_pos, end)  # type: ignore[arg-type]  # set by the lexer


def _unquote_string(text: str) -> str:
    return text[1:-1].replace("''", "'")
