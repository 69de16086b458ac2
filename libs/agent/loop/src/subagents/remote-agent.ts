import { isJsonObject, type JsonValue } from '@hermes-fleet/protocol';
import type { RemoteAgents } from '@hermes-fleet/protocol/ports';
import type { ToolContext } from '../run/conversation.ts';
import type { Answer, Delegation } from './delegation.ts';
import { countWords, cutAnswer, keepFullText } from './full-text.ts';

/** A failure is an answer, as for a local agent. A long one is cut: to condense it would be another task. */
export async function runRemote(options: {
  readonly name: string;
  readonly brief: string;
  readonly remotes: RemoteAgents;
  readonly state: Delegation;
  save(): Promise<void>;
  readonly call: ToolContext;
}): Promise<Answer> {
  const { name, state, call } = options;
  const memo = {
    load: () => state.remote,
    save: async (value: Delegation['remote']): Promise<void> => {
      state.remote = value;
      await options.save();
    },
  };
  const work = { brief: options.brief, tokenBudget: state.slice_tokens };
  const { ok, output } = await options.remotes.send(name, work, { ...call, memo });
  const { text, more } = readOutput(output);
  const status = ok ? (isUnfinished(output) ? 'partial' : 'finished') : 'failed';
  const answer: Answer = { status, text, ...(more && { more }) };
  if (countWords(text) <= state.max_words) return answer;
  const full = await keepFullText({ text, agent: name, call });
  return { ...answer, text: cutAnswer(text, state.max_words, full) };
}

/** True if a peer (`status`) or an A2A agent (`state`) reports an unfinished task. */
const isUnfinished = (output: JsonValue): boolean =>
  isJsonObject(output) &&
  ((output.status !== undefined && output.status !== 'done') ||
    (output.state !== undefined && output.state !== 'completed'));

/** The text of a result and its other fields if those are short; otherwise the whole output as JSON text. */
function readOutput(output: JsonValue): { text: string; more?: Answer['more'] } {
  if (typeof output === 'string') return { text: output };
  if (!isJsonObject(output)) return { text: JSON.stringify(output) };
  const { text = '', ...rest } = output;
  if (typeof text !== 'string' || JSON.stringify(rest).length > MAX_REST_CHARS)
    return { text: JSON.stringify(output) };
  return Object.keys(rest).length > 0 ? { text, more: { result: rest } } : { text };
}

const MAX_REST_CHARS = 4000;
