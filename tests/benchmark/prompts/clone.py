"""A git repository in the shape of the published one, with different wording."""

import subprocess
from pathlib import Path

from benchmark.prompts.published import FILE

PROMPTS = '''from enum import Enum
from pathlib import Path

Path(__file__).with_name("executed").touch()


class RetrievalType(int, Enum):
    EPISODIC = 1
    SEMANTIC = 2
    EPISODIC_SEMANTIC = 3


def retrieval_prompt_fn(query, retrieval_type=RetrievalType.EPISODIC):
    """Asks with what was found."""
    if retrieval_type == RetrievalType.EPISODIC:
        descriptor = "solved problems"
    elif retrieval_type == RetrievalType.SEMANTIC:
        descriptor = "a chapter"
    elif retrieval_type == RetrievalType.EPISODIC_SEMANTIC:
        descriptor = "both"
    else:
        raise Exception("unknown")
    return f"""You get {descriptor}.

{query['retrieval_text']}

Now:
[BEGIN PROBLEM]
{query['problem_description']}
[END PROBLEM]"""


def reflexion_prompt_fn(query, retrieval=False):
    retrieval_text = ""
    if retrieval:
        retrieval_text = "You were given these:\\n" + query['retrieval_text']
    return f"""You were solving this:
    [BEGIN PROBLEM]
    {query['problem_description']}
    [END PROBLEM]
    {retrieval_text}
    All attempts:
    {query['reflection_buffer']}
    Mend it.
    """


def solve_prompt_fn(query):
    return f"""Write Python.
  * Plan, then
\tcode.
[BEGIN PROBLEM]
{query['problem_description']}
[END PROBLEM]
"""
'''


def make_clone(folder: Path, prompts: str = PROMPTS, file: str = FILE) -> Path:
    """Make a repository with one commit that contains the file of prompts."""
    path = folder / file
    path.parent.mkdir(parents=True)
    path.write_text(prompts)
    for arguments in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-q", "-m", "Prompts"),
    ):
        subprocess.run(["git", "-C", str(folder), *arguments], check=True)
    return folder
