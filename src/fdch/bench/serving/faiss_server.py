"""The service's peer: FAISS behind FastAPI, as short as possible.

Run as `python -m fdch.bench.serving.faiss_server INDEX CODES WAY`. It has the index's
own encoder; WAY is "threads", a plain function for each request with FAISS on one
thread, or "loop", one request at a time with FAISS on all cores.
"""

import socket
import sys
from pathlib import Path
from typing import Any

import numpy as np

from fdch.bench.search import load_faiss
from fdch.machine import usable_cores
from fdch.retrieval.index import Index
from fdch.retrieval.queries import encode_text_queries

WAYS = ("threads", "loop")


def make_app(index: Index, peer: Any, way: str) -> Any:
    """Make the server's one route."""
    from fastapi import FastAPI
    from pydantic import BaseModel

    class Query(BaseModel):
        text: str
        k: int = 20

    app = FastAPI()
    method = index.method

    def answer(query: Query) -> dict[str, Any]:
        codes = encode_text_queries(method, [query.text]).codes
        distances, numbers = peer.search(codes.packed, query.k)
        found = zip(numbers[0].tolist(), distances[0].tolist(), strict=True)
        return {"results": [{"id": str(n), "distance": d} for n, d in found]}

    async def answer_alone(query: Query) -> dict[str, Any]:
        return answer(query)

    # fastapi runs a plain function in one of its threads
    app.post("/search")(answer if way == "threads" else answer_alone)
    return app


def main() -> None:
    """Load everything, listen, and say where."""
    import uvicorn

    name, codes, way = sys.argv[1:]
    faiss = load_faiss()
    faiss.omp_set_num_threads(1 if way == "threads" else usable_cores())
    packed = np.load(Path(codes), allow_pickle=False, mmap_mode="r")
    with Index.open(name) as index:
        peer = faiss.IndexBinaryFlat(index.bits)
        peer.add(np.ascontiguousarray(packed))
        app = make_app(index, peer, way)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/\n")
            sys.stdout.flush()
            config = uvicorn.Config(app, log_level="warning", access_log=False)
            uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
