import type { FinishReason, ModelMessage } from 'ai';
import { inputOf } from './history.ts';
import { meantTool, noSuchTool } from './tool-names.ts';

interface RefusedCallsOptions {
  /** The names of the offered tools. */
  readonly tools: ReadonlySet<string>;
  readonly finishReason: FinishReason;
  readonly maxOutputTokens: number;
  /** Counts a refused call; returns what the guards say to it. */
  refused(call: { readonly tool: string; readonly input: unknown }, reason: string): readonly string[];
}

const SHOWN_CHARS = 160;

/**
 * Better answers to calls that the SDK refused: one by another name of an offered tool loses its refusal, one of an unknown
 * tool names the closest ones, and that to an input that is no JSON says whether the output limit cut it, and shows its
 * beginning only.
 */
export function withRefusedCalls(
  messages: readonly ModelMessage[],
  options: RefusedCallsOptions,
): ModelMessage[] {
  return messages.flatMap((message): ModelMessage[] => {
    if (message.role !== 'tool') return [message];
    const content = message.content.flatMap((part) => {
      if (part.type !== 'tool-result' || !('value' in part.output)) return [part];
      const { toolCallId: id, toolName: name, output } = part;
      const said = typeof output.value === 'string' ? output.value : JSON.stringify(output.value);
      const input = inputOf(messages, id);
      const tool = meantTool(name, options.tools);
      const isUnreadable = tool === name || (tool !== undefined && isCut(options) && isEmpty(input));
      if (tool !== undefined && !isUnreadable) return [];
      const reason = isUnreadable ? unreadable(said, options) : noSuchTool(name, options.tools);
      const notes = options.refused({ tool: tool ?? name, input }, reason);
      return [{ ...part, output: { type: 'error-text' as const, value: [reason, ...notes].join('\n\n') } }];
    });
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}

const isCut = ({ finishReason }: RefusedCallsOptions): boolean => finishReason === 'length';

/** The SDK replaces an input that is no JSON by an empty object. */
const isEmpty = (input: unknown): boolean =>
  typeof input === 'object' && input !== null && Object.keys(input).length === 0;

/** A name that is offered is refused for one reason: its input is no JSON. The tools check everything else. */
function unreadable(said: string, options: RefusedCallsOptions): string {
  const { maxOutputTokens } = options;
  const [, text = ''] = /Text: ([\s\S]*)/.exec(said) ?? [];
  const began = text === '' ? '' : ` It began: ${text.slice(0, SHOWN_CHARS).toWellFormed()}…`;
  return isCut(options)
    ? `not run: the call was cut at the output limit of ${maxOutputTokens} tokens. Write in parts: a first part with write_file, each further part with a call of its own that appends or edits, all well below the limit.${began}`
    : `not run: the input is not valid JSON. Send it again as one JSON object; if it is long, in parts.${began}`;
}
