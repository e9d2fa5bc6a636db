"""A server of known timing: what a client should have measured, from the server's own send log.

It speaks OpenAI chat and completions (streamed or whole) and embeddings, sends the k-th chunk at
``received + ttft + k * itl`` and logs the moment before each send. The load generator certifies itself against it, and
the tests and benchmarks use its log as their oracle. It generates nothing: every chunk carries the same word.
"""

from assay.load.reference.log import ReferenceStream, load_reference_log
from assay.load.reference.process import ReferenceServer, start_reference_server
from assay.load.reference.timing import ReferenceTiming

__all__ = ["ReferenceServer", "ReferenceStream", "ReferenceTiming", "load_reference_log", "start_reference_server"]
