import { type Tensor, writeGguf } from './gguf.ts';

/** A step that the model takes once the conversation has the text `after`; the first step has none. */
export interface Step {
  readonly after?: string;
  readonly say: string;
}

const [MESSAGE_START, MESSAGE_END] = ['<|im_start|>', '<|im_end|>'] as const;

/**
 * Tool calls are written, and read back, as Qwen's models do it. The schemas of tools are left out: the server holds calls
 * against them by its grammar, and at a token for each byte, they take most of the time.
 */
const TEMPLATE = `{%- if tools %}<|im_start|>system
# Tools
{%- for tool in tools %}
{{ tool.function.name }}: {{ tool.function.description }}
{%- endfor %}
For each call, say {"name": <function-name>, "arguments": <args-json-object>} within <tool_call></tool_call> tags.<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

const [NORMAL, CONTROL, USER_DEFINED] = [1, 3, 4] as const;
const LINE_BREAK = 10;
/** The part of a step that is one token. */
const PIECE = /[\s\S]{1,24}/g;
const WIDTH = 64;
/** The length of each embedding, and what RMS normalization so multiplies it by. */
const LENGTH = 2;
const NORMALIZED = Math.sqrt(WIDTH) / LENGTH;
/** The dimension of queries and keys that positions rotate least: at this base, not at all. */
const SLOWEST = WIDTH / 2 - 1;
const ROPE_BASE = 1e9;

type Cell = readonly [row: number, column: number, value: number];

/**
 * The bytes of a GGUF model, of Qwen 2's architecture and one layer, that says these steps. It really reads what comes between:
 * it says the step whose `after` is in the conversation, anywhere, and of several the last one. The pieces within a step must differ.
 *
 * The vocabulary has the 256 bytes, the pieces of what is said, and each `after`. A token that means something to the model
 * has a dimension in the embeddings. The attention head finds the last `after` of the conversation, and sets the dimension
 * of its step: its turn. The output matrix adds what speaks for a next token: 2 if it follows the current one in some
 * step, 1 if it is in the step whose turn it is. An answer begins behind a line break, so that is what the first piece follows.
 */
export function scriptedGguf(script: readonly Step[]): Buffer {
  const tokens = new Map<string, number>(BYTES.map((text) => [text, NORMAL]));
  const add = (text: string, type: number): number => {
    tokens.set(text, type);
    return [...tokens.keys()].indexOf(text);
  };
  const end = add(MESSAGE_END, CONTROL);
  // The first step follows from the start of any message.
  const steps = script.map(({ after, say }) => ({
    after: after === undefined ? add(MESSAGE_START, CONTROL) : add(after, USER_DEFINED),
    pieces: (say.match(PIECE) ?? []).map((piece) => add(encoded(piece), NORMAL)),
  }));
  const meanings = [...new Set([LINE_BREAK, ...steps.flatMap(({ after, pieces }) => [after, ...pieces])])];
  const dimensionOf = (token: number): number => meanings.indexOf(token);
  const turnOf = (step: number): number => meanings.length + step;
  const filler = turnOf(steps.length);
  if (filler >= WIDTH) throw new Error(`the steps need a width of ${filler + 1}`);

  // The filler makes all embeddings equally long, so that normalization multiplies all by the same number.
  const embeddings = [...tokens.values()].flatMap((_, token): Cell[] =>
    meanings.includes(token)
      ? [
          [token, dimensionOf(token), 1],
          [token, filler, Math.sqrt(LENGTH ** 2 - 1)],
        ]
      : [[token, filler, LENGTH]],
  );
  // Each query asks the same. Scores are 20 apart, so that softmax leaves all attention to the last step.
  const query = vector(0);
  query.values[SLOWEST] = Math.sqrt(WIDTH);
  const keys = steps.map(
    ({ after }, step): Cell => [SLOWEST, dimensionOf(after), (20 * (step + 1)) / NORMALIZED],
  );
  const values = steps.map(({ after }, step): Cell => [step, dimensionOf(after), 1 / NORMALIZED]);
  const turns = steps.map((_, step): Cell => [turnOf(step), step, 1]);
  const next = steps.flatMap(({ pieces }, step) =>
    [...pieces, end].flatMap((token, index): Cell[] => [
      [token, dimensionOf(pieces[index - 1] ?? LINE_BREAK), 2],
      [token, turnOf(step), 1],
    ]),
  );
  const nothing = matrix(WIDTH, []);
  return writeGguf(
    {
      'general.architecture': 'qwen2',
      'qwen2.block_count': 1,
      'qwen2.context_length': 32_768,
      'qwen2.embedding_length': WIDTH,
      'qwen2.feed_forward_length': WIDTH,
      'qwen2.attention.head_count': 1,
      'qwen2.attention.layer_norm_rms_epsilon': { f32: 1e-6 },
      'qwen2.rope.freq_base': { f32: ROPE_BASE },
      'tokenizer.ggml.model': 'gpt2',
      'tokenizer.ggml.pre': 'qwen2',
      'tokenizer.ggml.tokens': [...tokens.keys()],
      'tokenizer.ggml.token_type': [...tokens.values()],
      'tokenizer.ggml.merges': [],
      'tokenizer.ggml.eos_token_id': end,
      'tokenizer.chat_template': TEMPLATE,
    },
    {
      'token_embd.weight': matrix(tokens.size, embeddings),
      'blk.0.attn_norm.weight': vector(1),
      'blk.0.attn_q.weight': nothing,
      'blk.0.attn_q.bias': query,
      'blk.0.attn_k.weight': matrix(WIDTH, keys),
      'blk.0.attn_k.bias': vector(0),
      'blk.0.attn_v.weight': matrix(WIDTH, values),
      'blk.0.attn_v.bias': vector(0),
      'blk.0.attn_output.weight': matrix(WIDTH, turns),
      'blk.0.ffn_norm.weight': vector(1),
      'blk.0.ffn_gate.weight': nothing,
      'blk.0.ffn_up.weight': nothing,
      'blk.0.ffn_down.weight': nothing,
      'output_norm.weight': vector(1),
      'output.weight': matrix(tokens.size, next),
    },
  );
}

const vector = (value: number): Tensor => ({ columns: WIDTH, values: new Float32Array(WIDTH).fill(value) });

function matrix(rows: number, cells: readonly Cell[]): Tensor {
  const values = new Float32Array(rows * WIDTH);
  for (const [row, column, value] of cells) values[row * WIDTH + column] = value;
  return { rows, columns: WIDTH, values };
}

/** The character that stands for a byte in vocabularies of GPT-2's kind: itself where it is visible, else one from 256 on. */
const isVisible = (byte: number): boolean => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
const ALL = Array.from({ length: 256 }, (_, byte) => byte);
const HIDDEN = ALL.filter((byte) => !isVisible(byte));
const BYTES = ALL.map((byte) => String.fromCharCode(isVisible(byte) ? byte : 256 + HIDDEN.indexOf(byte)));

const encoded = (text: string): string => Array.from(Buffer.from(text), (byte) => BYTES[byte]).join('');
