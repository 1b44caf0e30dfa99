"""The API in the words of OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from respace.version import VERSION
from transforms.formats.provenance import KINDS
from transforms.repair.review import DECISIONS


def openapi(methods: tuple[str, ...], most_bytes: int) -> dict[str, Any]:
    """The document that `/api/openapi.json` gives."""
    error = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
    penalty = {"type": ["number", "null"], "minimum": 0, "maximum": 1000}
    repair = {
        "type": "object",
        "required": ["text", "edits", "left_alone"],
        "properties": {
            "text": {"type": "string", "description": "the text with repaired spaces"},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["gap", "kind", "confidence"],
                    "properties": {
                        "gap": {"type": "integer", "description": "before which non-space character, from 0"},
                        "kind": {"enum": ["insertion", "deletion"]},
                        "confidence": {"type": "number"},
                    },
                },
            },
            "left_alone": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "reason": {"type": "string"},
                        "start": {"type": "integer"},
                        "stop": {"type": "integer"},
                    },
                },
            },
        },
    }
    request = {
        "type": "object",
        "required": ["text"],
        "additionalProperties": False,
        "properties": {
            "text": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "maxItems": 1000}]},
            "method": {"enum": list(methods), "default": methods[0]},
            "insertion_penalty": penalty,
            "deletion_penalty": penalty,
            "all_text": {"type": "boolean", "default": False},
        },
    }
    decision = {
        "type": "object",
        "required": ["shard", "row", "gap", "kind", "decision"],
        "additionalProperties": False,
        "properties": {
            "shard": {"type": "string"},
            "row": {"type": "integer", "minimum": 0},
            "gap": {"type": "integer", "minimum": 0},
            "kind": {"enum": list(KINDS)},
            "decision": {"enum": list(DECISIONS)},
        },
    }
    several = {"type": "object", "required": ["repairs"], "properties": {"repairs": {"type": "array", "items": repair}}}
    reasons = {
        "400": "the request cannot be understood",
        "401": "the token is missing that was printed when the application started",
        "403": "another site's page, or another name than those of --allowed_hosts",
        "413": f"more than {most_bytes} bytes",
        "429": "too many requests are waiting; try again after the seconds of Retry-After",
        "503": "the model is still loading; try again after the seconds of Retry-After",
        "504": "the answer took too long",
    }
    answers = {code: _answer(text, error) for code, text in reasons.items()}
    repair_answers = {code: answer for code, answer in answers.items() if code != "401"}
    repair_answers["200"] = _answer("the repaired text or texts", {"oneOf": [repair, several]})
    return {
        "openapi": "3.1.0",
        "info": {"title": "Respace", "version": VERSION, "description": "Repairs spaces and changes nothing else."},
        "paths": {
            "/api/repair": {
                "post": {
                    "summary": "Repair one text or several",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
                    "responses": repair_answers,
                }
            },
            "/api/pdf": {
                "post": {
                    "summary": "The text of a PDF, not repaired",
                    "requestBody": {"required": True, "content": {"application/pdf": {"schema": {}}}},
                    "responses": {
                        **{code: answers[code] for code in ("400", "403", "413", "429", "504")},
                        "503": _answer("no reader of PDFs is installed", error),
                        "200": _answer("the text", _object(text="string")),
                    },
                }
            },
            "/api/corpus": {
                "get": {
                    "summary": "The corpus that was opened: its report, and its least certain edits",
                    "responses": {
                        **{code: answers[code] for code in ("401", "403", "429", "504")},
                        "404": _answer("no corpus was opened", error),
                        "503": _answer("the report or the review file cannot be understood", error),
                        "200": _answer("report and edits", _object(summary="object", edits="array", notes="array")),
                    },
                }
            },
            "/api/corpus/review": {
                "post": {
                    "summary": "Accept or reject an edit",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": decision}}},
                    "responses": {
                        **{code: answers[code] for code in ("400", "401", "403", "413", "429", "504")},
                        "404": _answer("no corpus was opened", error),
                        "415": _answer("another content-type than application/json", error),
                        "503": _answer("the review file cannot be understood", error),
                        "200": _answer("saved", _object(saved="boolean")),
                    },
                }
            },
            "/api/ready": {
                "get": {
                    "summary": "Whether texts can be repaired already",
                    "responses": {
                        "403": answers["403"],
                        "503": answers["503"],
                        "200": _answer("they can", _object(ready="boolean")),
                    },
                }
            },
            "/api/methods": {
                "get": {
                    "summary": "The methods and their penalties",
                    "responses": {"200": _answer("by name", {"type": "object"})},
                }
            },
        },
    }


def _answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _object(**members: str) -> dict[str, Any]:
    """An object with these members, by name and type."""
    properties = {name: {"type": kind} for name, kind in members.items()}
    return {"type": "object", "required": list(members), "properties": properties}
