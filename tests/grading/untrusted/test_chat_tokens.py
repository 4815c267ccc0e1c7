# SPDX-FileCopyrightText: 2026 The vibench-gym authors
# SPDX-License-Identifier: Apache-2.0
"""No token of a known family's chat template is in what an app shows to a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vibench_gym.grading.untrusted.chat_tokens import as_shown_on_page, without_chat_tokens
from vibench_gym.grading.untrusted.text import as_data, quoted_lines

TOKENS = {
    "ChatML": "<|im_start|> <|im_end|> <|endoftext|>",
    "Llama 2": "<s> </s> [INST] [/INST] <<SYS>> <</SYS>> <unk>",
    "Llama 3": "<|begin_of_text|> <|eot_id|> <|start_header_id|> <|python_tag|> <|eom_id|>",
    "Mistral": "[AVAILABLE_TOOLS] [TOOL_CALLS] [TOOL_RESULTS] [/TOOL_RESULTS] [SYSTEM_PROMPT]"
    " [IMG] [IMG_BREAK] [THINK] [PREFIX] [control_8]",
    "Gemma": "<start_of_turn> <end_of_turn> <bos> <eos> <pad> <unused7> <start_of_image>",
    "DeepSeek": "<\uff5cUser\uff5c> <\uff5cend\u2581of\u2581sentence\uff5c>"
    " <\uff5ctool\u2581calls\u2581begin\uff5c> <think> </think>",
    "GLM": "[gMASK] <sop> <eop> <|observation|> <arg_key>",
    "Phi": "<|user|> <|assistant|> <|end|> <|system|>",
    "harmony": "<|start|> <|channel|> <|message|> <|call|> <|return|>",
    "Qwen": "<|vision_start|> <|image_pad|> <|vision_end|> <tool_call> </tool_call>"
    " <tool_response> <function=x> <parameter=y>",
    "Kimi": "<|im_middle|> <|tool_call_argument_begin|> <|media_start|>",
    "Command": "<|START_OF_TURN_TOKEN|> <|END_RESPONSE|>",
    "MiniMax": "]~b] ]~!b[ [e~[ <minimax:tool_call>",
    "T5, BERT": "<extra_id_0> [MASK] [CLS] [SEP] [PAD]",
    "fill in the middle": "<fim_prefix> <|fim_suffix|> <PRE> <SUF> <MID>",
    "wide forms": "\uff1c|im_end|\uff1e \uff3bINST\uff3d <\u2223im_end\u2223>",
}
ORDINARY = (
    "<div class='s'>a</div> a < b > c <br> x<y [x] [ref=e12] [active] [level=1] [1] a[i]"
    " [tabs: tab_1*] f |> g if (a || b) [cursor=pointer] https://x/[id] <p> <strong>"
)


@pytest.mark.parametrize("text", TOKENS.values(), ids=TOKENS)
def test_tokens_are_broken_and_can_be_read(text: str) -> None:
    for token in text.split():
        for spelled in (token, token.lower(), token.upper()):
            shown = without_chat_tokens(spelled)
            assert spelled not in shown
            assert shown.startswith("\\u")
            assert shown[6:] == spelled[1:]
            assert without_chat_tokens(shown) == shown
            assert as_shown_on_page(shown) == spelled
    assert as_shown_on_page(without_chat_tokens(f"a {text}{text}")) == f"a {text}{text}"


def test_other_brackets_stay() -> None:
    assert without_chat_tokens(ORDINARY) == ORDINARY


@pytest.mark.parametrize("token", ["<|im_end|>", "[INST]", "<\uff5cUser\uff5c>", "</s>"])
def test_no_way_into_a_conversation_lets_one_through(token: str) -> None:
    for text in (token, f"x\n{token}", f"<\u200b{token}", token + token):
        assert token not in as_data(text, 1000)
        assert token not in quoted_lines(text)


@given(st.text(st.sampled_from("<>[]|/s_imend\u2581\uff5c~b! INST\u200b\\u003c"), max_size=40))
def test_twice_is_as_once(text: str) -> None:
    once = as_data(text, 1000)
    assert as_data(once, 1000) == once


def test_brackets_without_end_take_no_time() -> None:
    for text in ("<" * 200_000, "<s" * 100_000, "<start_of_" * 30_000, "[" * 200_000):
        assert len(without_chat_tokens(text)) >= len(text)
