"""The recipes of docs/shortlists.md work where the packages that they are for are installed."""

import pathlib
import re
import zlib

import numpy as np
import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "shortlists.md"
TEXTS = [f"a text on the number {i}" for i in range(12)]
TEXTS += TEXTS[:3]  # copies


def recipe(package):
    """Run the block of the page that imports a package, and return the names it defines."""
    for block in re.findall(r"^```py\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.M):
        if package in block:
            names = {"__name__": "recipe"}
            exec(compile(block, PAGE.name, "exec"), names)
            return names
    raise AssertionError(f"no recipe for {package}")


def embed(text):
    return np.random.default_rng(zlib.crc32(text.encode())).normal(size=16).tolist()


def test_langchain():
    documents = pytest.importorskip("langchain_core.documents")
    embeddings = pytest.importorskip("langchain_core.embeddings")

    class Hashed(embeddings.Embeddings):
        def embed_documents(self, texts):
            return [embed(text) for text in texts]

        def embed_query(self, text):
            return embed(text)

    compressor = recipe("langchain_core")["DiverseCompressor"](embeddings=Hashed(), k=6)
    given = [documents.Document(page_content=text) for text in TEXTS]
    found = compressor.compress_documents(given, TEXTS[4])
    assert len({document.page_content for document in found}) == len(found) == 6
    assert found[0].page_content == TEXTS[4]
    assert len(compressor.compress_documents(given[:2], "a question")) == 2
    assert list(compressor.compress_documents([], "a question")) == []


def test_llama_index():
    core = pytest.importorskip("llama_index.core")
    schema = pytest.importorskip("llama_index.core.schema")

    class Hashed(core.MockEmbedding):
        def _get_text_embedding(self, text):
            return embed(text)

    nodes = [
        schema.NodeWithScore(node=schema.TextNode(text=text), score=1 / (1 + i))
        for i, text in enumerate(TEXTS)
    ]
    make = recipe("llama_index")["DiversePostprocessor"]
    found = make(embed_model=Hashed(embed_dim=16), k=6).postprocess_nodes(nodes)
    assert len({node.node.get_content() for node in found}) == len(found) == 6
    assert found[0].node.get_content() == TEXTS[0]
    assert make(embed_model=Hashed(embed_dim=16)).postprocess_nodes([]) == []


def test_haystack(monkeypatch):
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    haystack = pytest.importorskip("haystack")
    ranker = recipe("haystack")["DiverseRanker"](k=6)
    documents = [
        haystack.Document(id=str(i), content=text, embedding=embed(text), score=1 / (1 + i))
        for i, text in enumerate(TEXTS)
    ]
    pipeline = haystack.Pipeline()
    pipeline.add_component("ranker", ranker)
    found = pipeline.run({"ranker": {"documents": documents}})["ranker"]["documents"]
    assert len({document.content for document in found}) == len(found) == 6
    assert found[0].content == TEXTS[0]
    assert len(ranker.run(documents=documents[:2])["documents"]) == 2
    assert ranker.run(documents=[])["documents"] == []
