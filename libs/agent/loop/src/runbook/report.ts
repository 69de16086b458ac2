import { cutTo, isJsonObject, type JsonValue } from '@hermes-fleet/protocol';

/** An answered tool call of the conversation. */
export interface PastCall {
  readonly tool: string;
  readonly input: JsonValue;
  /** `unknown`: the gateway went down while the call ran; `not_run`: before it ran. */
  readonly outcome: 'ok' | 'failed' | 'unknown' | 'not_run';
  readonly output: JsonValue;
}

const MAX_OUTPUT_CHARS = 600;
const HEADS = {
  ok: 'Done, as the brief says:',
  failed: 'Stopped at a failure:',
  unknown: 'Stopped:',
  not_run: 'Stopped:',
} satisfies Record<PastCall['outcome'], string>;

/** The reply in prose: one line for each call. */
export function summary(past: readonly PastCall[], end: PastCall['outcome']): string {
  return [HEADS[end], ...past.map((call) => `- ${line(call)}`)].join('\n');
}

function line(call: PastCall): string {
  const { tool, input, outcome, output } = call;
  const what = field(input, tool === 'shell_exec' ? 'command' : 'path');
  if (outcome === 'unknown')
    return `${tool}${what === undefined ? '' : ` \`${what}\``}: outcome unknown, it was cut off by a restart`;
  if (outcome === 'not_run') return `${tool}: not run, a restart came before it`;
  if (tool === 'shell_exec') return `ran \`${what}\`: ${exitOf(output)}${indented(streams(output), outcome)}`;
  if (tool === 'write_file') return `wrote ${what}${outcome === 'ok' ? '' : `: ${print(output)}`}`;
  if (tool === 'read_file') return `read back ${what}: ${outcome === 'ok' ? 'there' : print(output)}`;
  const name = tool === 'fleet_send' ? `sent to ${field(input, 'agent')}` : `called ${tool}`;
  return `${name}: ${outcome === 'ok' ? 'ok' : 'failed'}${indented(text(output), outcome)}`;
}

/** The reply as JSON. */
export function facts(past: readonly PastCall[]) {
  const called = past
    .filter(({ tool }) => !['shell_exec', 'write_file', 'read_file'].includes(tool))
    .map(({ tool, input, outcome, output }) => ({ tool, input, outcome, result: bounded(output) }));
  return {
    ran: past
      .filter(({ tool }) => tool === 'shell_exec')
      .map(({ input, output }) => ({ command: field(input, 'command') ?? '', result: exitOf(output) })),
    wrote: past
      .filter(({ tool, outcome }) => tool === 'write_file' && outcome === 'ok')
      .map(({ input }) => field(input, 'path') ?? ''),
    ...(called.length > 0 ? { called } : {}),
  };
}

const exitOf = (output: JsonValue): string => {
  const killed = field(output, 'killed');
  const code = field(output, 'exit_code');
  const limit = field(output, 'limit');
  const why = limit === undefined ? '' : ` (${limit})`;
  return killed ?? (code === undefined ? print(output) : `exit code ${code}${why}`);
};

const streams = (output: JsonValue): string =>
  `${field(output, 'stdout') ?? ''}${field(output, 'stderr') ?? ''}`;

/** The beginning of a successful output; the end of a failed one, which says why. */
function indented(output: string, outcome: PastCall['outcome']): string {
  const trimmed = output.trim();
  if (trimmed === '') return '';
  const tail = outcome !== 'ok' && trimmed.length > MAX_OUTPUT_CHARS;
  const kept = tail ? `…${trimmed.slice(-MAX_OUTPUT_CHARS)}` : cutTo(trimmed, MAX_OUTPUT_CHARS);
  return `\n${kept.replace(/^/gm, '      ')}`;
}

const bounded = (output: JsonValue): JsonValue =>
  text(output).length > MAX_OUTPUT_CHARS ? cutTo(text(output), MAX_OUTPUT_CHARS) : output;

const text = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value));
const print = (value: JsonValue): string => text(value).replace(/\s+/g, ' ').slice(0, 300);

export function field(value: JsonValue, name: string): string | undefined {
  const found = isJsonObject(value) ? value[name] : undefined;
  return typeof found === 'string' || typeof found === 'number' ? String(found) : undefined;
}
