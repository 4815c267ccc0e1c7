# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
r"""Text of an app's in which no tokenizer finds a token that ends its turn or begins another one.

Servers of open models put messages into a template of special tokens, and many read those from the
messages' own text, too: an app that shows `<|im_end|>` would end the tool's message and go on as
the user. The first bracket of such a token becomes its escape (`\u003c|im_end|>`): it is no token
any more, and can be read and cited.

Tokens with a bar after the bracket are one kind, whatever their name (ChatML, Qwen, Llama 3, Phi,
GLM, Kimi, harmony; with fullwidth bars DeepSeek). The rest are names.
"""

from __future__ import annotations

import re
from typing import Final

from vibench_gym.core.shown_text import as_written, escaped

_ANGLE: Final = "<\uff1c\ufe64"
_SQUARE: Final = "\\[\uff3b"
_BAR: Final = "|\uff5c\uffe8\u2223"
_TAGS: Final = (
    # SentencePiece, BERT and GPT-2 families, GLM
    r"(?:s|bos|eos|pad|unk|mask|cls|sep|sop|eop|eot|eod|eom|end_?of_?text|begin_?of_?text)(?:_id)?",
    r"extra_id_\d+|unused\d+|reserved_?(?:token_?)?\d*|special_?\d+",
    # Gemma, and others that name turns
    r"(?:start|end|begin)[_\u2581 ]of[_\u2581 ]\w+|\w+_soft_token|ctrl\d+",
    # calls and thoughts
    r"tool_(?:calls?|results?|response|outputs?|code)|tools?|functions?(?:_?(?:calls?|results?))?",
    r"(?:function|parameter|arg_key|arg_value|invoke)(?:=[^<>\n]{0,80})?",
    r"think(?:ing)?|scratchpad|minimax:\w+|seed:\w+|longcat_\w+",
    # pictures
    r"image|img|video|audio|vision_\w+|image_(?:pad|soft_token|start|end)|box|quad|ref",
    # Code Llama, StarCoder, fill in the middle
    r"pre|suf|mid|fim[_-]\w+|repo_name|file_sep|gh_stars|jupyter_\w+",
    r"system|user|assistant|human|bot",
)
_NAMES: Final = (
    r"/?(?:inst|system_prompt|available_tools|tool_results?|tool_calls?|tool_content|args|call_id)",
    r"/?(?:img|img_break|img_end|audio|begin_audio|think|model_settings|multimodal)",
    r"(?:prefix|suffix|middle|control_\d+|gmask|smask|cls|sep|mask|pad|unk|bos|eos)",
)
_TOKEN: Final = re.compile(
    rf"[{_ANGLE}](?=/?[{_BAR}]"
    rf"|[{_ANGLE}]/?sys\b"
    rf"|/?(?:{'|'.join(_TAGS)})/?[>\uff1e\ufe65]"
    r"|\[)"
    rf"|[{_SQUARE}](?=(?:{'|'.join(_NAMES)})[\]\uff3d]|e~\[)"
    # MiniMax
    r"|\](?=~b\]|~!b\[)",
    re.IGNORECASE,
)
_BRACKETS: Final = "<\uff1c\ufe64[\uff3b]"


def without_chat_tokens(text: str) -> str:
    """The text in which the first bracket of each token is escaped; twice is as once."""
    return _TOKEN.sub(lambda match: escaped(match[0]), text)


def as_shown_on_page(text: str) -> str:
    """The text as the page had it before it was made safe to show."""
    return as_written(text, _BRACKETS)
