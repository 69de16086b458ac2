import type { JsonValue } from '@hermes-fleet/protocol';
import type { AskKind } from '../loop/asks.ts';
import { renderClaim } from '../loop/final-message.ts';
import { fences } from './fences.ts';

/** One thing that a brief asks for in a form that needs no understanding. */
export type Action =
  | { readonly tool: 'shell_exec'; readonly command: string }
  | { readonly tool: 'write_file'; readonly path: string; readonly content: string };

/** A tool call of the conversation with what came of it. */
export interface PastCall {
  readonly tool: string;
  readonly input: JsonValue;
  /** `unknown`: the gateway went down while it ran. */
  readonly outcome: 'ok' | 'failed' | 'unknown';
  readonly output: JsonValue;
}

export interface Call {
  readonly tool: string;
  readonly input: { readonly [key: string]: string };
}

export type Decision =
  | { readonly kind: 'call'; readonly calls: readonly Call[] }
  | { readonly kind: 'finish'; readonly text: string };

export interface Conversation {
  readonly brief: string;
  readonly past: readonly PastCall[];
  readonly tools: ReadonlySet<string>;
  /** Whether the reply is to be JSON. */
  readonly json: boolean;
  /** What it is asked beside the brief, and how many calls came before that. */
  readonly ask?: { readonly kind: AskKind; readonly since: number } | undefined;
}

const SHELL = new Set(['sh', 'bash', 'shell']);
const MAX_OUTPUT_CHARS = 600;

/** The actions of a brief, in order: fenced `sh` blocks, and fenced blocks titled with a file path. */
export function readRunbook(brief: string): Action[] {
  return fences(brief).flatMap(({ info, content }): Action[] => {
    const words = info.split(/\s+/).filter(Boolean);
    const path = words.find((word, index) => /[./]/.test(word) && (index > 0 || words.length === 1));
    if (path !== undefined) return [{ tool: 'write_file', path, content }];
    if (!SHELL.has(words[0] ?? '') || content.trim() === '') return [];
    return [{ tool: 'shell_exec', command: content.trimEnd() }];
  });
}

/**
 * What to do next, from the brief and the conversation alone, so that it goes on after a restart: the next action, then
 * a look at what was written, then the summary. It stops at the first failure, and does not repeat a command that may
 * have run.
 */
export function decide(o: Conversation): Decision {
  const actions = readRunbook(o.brief);
  const missing = [...new Set(actions.map(({ tool }) => tool))].filter((tool) => !o.tools.has(tool));
  if (actions.length === 0) return cannot(o.brief, NO_MODEL);
  if (o.ask !== undefined) return comply(o, o.ask, actions);
  if (missing.length > 0)
    return cannot(o.brief, `This brief needs ${missing.join(' and ')}, not available here.`);
  let done = 0;
  for (const call of o.past.filter(isAction)) {
    if (call.outcome === 'unknown' && call.tool === 'write_file') continue;
    if (call.outcome !== 'ok') return finish(o, actions, done, call.outcome);
    done += 1;
  }
  const next = actions.slice(done);
  if (next.length > 0) return { kind: 'call', calls: nextCalls(next, o) };
  const last = unread(o);
  if (last.length > 0) return { kind: 'call', calls: last };
  return finish(o, actions, done, 'ok');
}

/** What the loop asks for beside the brief, as far as it takes no understanding. */
function comply(
  o: Conversation,
  ask: NonNullable<Conversation['ask']>,
  actions: readonly Action[],
): Decision {
  const done = o.past.filter((call) => isAction(call) && call.outcome === 'ok').length;
  const text = o.json ? JSON.stringify(facts(o.past), null, 2) : summary(o.past, 'ok');
  const stop = (remaining: string[]): Decision => {
    const claim = { status: remaining.length > 0 ? ('partial' as const) : ('done' as const), remaining };
    return { kind: 'finish', text: `${text}\n\n${renderClaim({ ...claim, nextSteps: [] })}` };
  };
  if (ask.kind === 'wrap_up') return stop(actions.slice(done).map(describe));
  if (ask.kind === 'verify') {
    const calls = rereads(unreadSince(o.past, ask.since), o);
    return calls.length > 0 ? { kind: 'call', calls } : { kind: 'finish', text };
  }
  const what = ask.kind === 'repair' ? 'a reply that fits' : 'what the second check objects to';
  return stop([`${what}: offline/runbook reports what it ran, and can do nothing else`]);
}

const NO_MODEL =
  'No model is configured: this profile runs on offline/runbook, which carries out fenced sh blocks and writes fenced ' +
  'blocks titled with a file path, and nothing else. Set `model` in config.yaml for a brief in prose.';

const cannot = (brief: string, text: string): Decision => ({
  kind: 'finish',
  text: `${text}\n\n${renderClaim({ status: 'partial', remaining: [brief], nextSteps: [] })}`,
});

const isAction = ({ tool }: PastCall): boolean => tool === 'shell_exec' || tool === 'write_file';

/** One command, or all files up to the next command; with the last of them a look at all that was written. */
function nextCalls(actions: readonly Action[], o: Conversation): Call[] {
  const command = actions.findIndex(({ tool }) => tool === 'shell_exec');
  const batch = command === -1 ? actions : actions.slice(0, Math.max(1, command));
  const calls = batch.map(({ tool, ...input }): Call => ({ tool, input }));
  if (batch.length < actions.length) return calls;
  const written = [
    ...writtenPaths(o.past),
    ...batch.flatMap((action) => ('path' in action ? [action.path] : [])),
  ];
  return [...calls, ...rereads(written, o)];
}

const writtenPaths = (past: readonly PastCall[]): string[] =>
  past.filter(({ tool }) => tool === 'write_file').map(({ input }) => field(input, 'path') ?? '');

/** Files that were written and not looked at since the last action. */
function unread(o: Conversation): Call[] {
  return rereads(unreadSince(o.past, o.past.findLastIndex(isAction) + 1), o);
}

function unreadSince(past: readonly PastCall[], from: number): string[] {
  const seen = new Set(past.slice(from).map(({ input }) => field(input, 'path')));
  return writtenPaths(past).filter((path) => !seen.has(path));
}

const rereads = (paths: readonly string[], { tools }: Conversation): Call[] =>
  tools.has('read_file') ? [...new Set(paths)].map((path) => ({ tool: 'read_file', input: { path } })) : [];

function finish(
  o: Conversation,
  actions: readonly Action[],
  done: number,
  end: PastCall['outcome'],
): Decision {
  const text = o.json ? JSON.stringify(facts(o.past), null, 2) : summary(o.past, end);
  if (end === 'ok') return { kind: 'finish', text };
  const remaining = actions.slice(done).map(describe);
  const status = done > 0 || end === 'unknown' ? 'partial' : 'error';
  return { kind: 'finish', text: `${text}\n\n${renderClaim({ status, remaining, nextSteps: [] })}` };
}

const describe = (action: Action): string =>
  action.tool === 'shell_exec' ? `run: ${action.command}` : `write: ${action.path}`;

function summary(past: readonly PastCall[], end: PastCall['outcome']): string {
  const lines = past.map((call) => {
    const what = field(call.input, call.tool === 'shell_exec' ? 'command' : 'path');
    if (call.outcome === 'unknown')
      return `- ${call.tool} \`${what}\`: outcome unknown, it was cut off by a restart`;
    if (call.tool === 'write_file')
      return `- wrote ${what}${call.outcome === 'ok' ? '' : `: ${print(call.output)}`}`;
    if (call.tool === 'read_file')
      return `- read back ${what}: ${call.outcome === 'ok' ? 'there' : print(call.output)}`;
    return `- ran \`${what}\`: ${exitOf(call.output)}${shown(call.output)}`;
  });
  const head = { ok: 'Done, as the brief says:', failed: 'Stopped at a failure:', unknown: 'Stopped:' }[end];
  return [head, ...lines].join('\n');
}

const exitOf = (output: JsonValue): string => {
  const killed = field(output, 'killed');
  const code = field(output, 'exit_code');
  return killed ?? (code === undefined ? print(output) : `exit code ${code}`);
};

function shown(output: JsonValue): string {
  const text = `${field(output, 'stdout') ?? ''}${field(output, 'stderr') ?? ''}`.trim();
  if (text === '') return '';
  const cut = text.length > MAX_OUTPUT_CHARS ? `${text.slice(0, MAX_OUTPUT_CHARS)}…` : text;
  return `\n${cut.replace(/^/gm, '      ')}`;
}

const facts = (past: readonly PastCall[]) => ({
  ran: past
    .filter(({ tool }) => tool === 'shell_exec')
    .map(({ input, output }) => ({ command: field(input, 'command') ?? '', result: exitOf(output) })),
  wrote: past
    .filter(({ tool, outcome }) => tool === 'write_file' && outcome === 'ok')
    .map(({ input }) => field(input, 'path') ?? ''),
});

const print = (value: JsonValue): string =>
  (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 300);

export function field(value: JsonValue, name: string): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const found = value[name];
  return typeof found === 'string' || typeof found === 'number' ? String(found) : undefined;
}
