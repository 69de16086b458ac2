import type { JsonObject, JsonValue } from '@hermes-fleet/protocol';
import type { FollowUpKind } from '../messages/asks.ts';
import { renderClaim } from '../messages/final-message.ts';
import { type Action, describeAction, type Runbook, readRunbook } from './actions.ts';
import { facts, field, type PastCall, summary } from './report.ts';

export interface Call {
  readonly tool: string;
  readonly input: JsonObject;
}

export type Decision =
  | { readonly kind: 'call'; readonly calls: readonly Call[] }
  | { readonly kind: 'finish'; readonly text: string };

export interface RunbookConversation {
  readonly brief: string;
  readonly past: readonly PastCall[];
  readonly tools: ReadonlySet<string>;
  /** Whether the reply is to be JSON. */
  readonly json: boolean;
  /** What it is asked beside the brief, and how many calls came before that. */
  readonly ask?:
    | { readonly kind: FollowUpKind; readonly since: number; readonly files: readonly string[] }
    | undefined;
}

/** How far the actions of a brief are carried out. */
interface Progress {
  readonly actions: readonly Action[];
  /** How many have succeeded, from the first on. */
  readonly done: number;
  /** What the one behind them came to, when that ends the run. */
  readonly end: PastCall['outcome'] | undefined;
  /** How many calls there were when the last of them was answered. */
  readonly until: number;
}

/**
 * What to do next, from the brief and the conversation alone, so that it goes on after a restart: the next action, then
 * a look at what was written, then the summary. It stops at the first failure, and does not repeat a call that may have
 * been carried out.
 */
export function decide(o: RunbookConversation): Decision {
  const runbook = readRunbook(o.brief);
  const { actions } = runbook;
  const obstacle = obstacleOf(runbook, o);
  if (obstacle !== undefined && (o.ask === undefined || actions.length === 0))
    return cannot(o.brief, obstacle);
  const progress = progressOf(actions, o.past);
  if (o.ask !== undefined) return comply(o, o.ask, progress);
  if (progress.end !== undefined) return finish(o, progress, progress.end);
  if (progress.done < actions.length) return { kind: 'call', calls: nextCalls(progress, o) };
  const last = rereads(unreadSince(o.past, progress.until), o);
  return last.length > 0 ? { kind: 'call', calls: last } : finish(o, progress, 'ok');
}

/** Why nothing of a brief is begun. */
function obstacleOf({ actions, problems }: Runbook, { tools }: RunbookConversation): string | undefined {
  if (problems.length > 0) return `This brief cannot be carried out as it stands: ${problems.join('; ')}.`;
  if (actions.length === 0) return NO_MODEL;
  const missing = [...new Set(actions.map(({ tool }) => tool))].filter((tool) => !tools.has(tool));
  return missing.length > 0 ? `This brief needs ${missing.join(' and ')}, not available here.` : undefined;
}

/** Actions are carried out in their order, and files are looked at after the last of them: calls tell by their tool. */
function progressOf(actions: readonly Action[], past: readonly PastCall[]): Progress {
  let done = 0;
  let until = 0;
  for (const [index, { tool, outcome }] of past.entries()) {
    if (tool !== actions[done]?.tool) continue;
    until = index + 1;
    if (outcome === 'not_run' || (outcome === 'unknown' && tool === 'write_file')) continue;
    if (outcome !== 'ok') return { actions, done, end: outcome, until };
    done += 1;
  }
  return { actions, done, end: undefined, until };
}

/** What the loop asks for beside the brief, as far as it takes no understanding. */
function comply(
  o: RunbookConversation,
  ask: NonNullable<RunbookConversation['ask']>,
  progress: Progress,
): Decision {
  const text = o.json ? JSON.stringify(facts(o.past), null, 2) : summary(o.past, 'ok');
  const stop = (remaining: string[]): Decision => {
    const claim = { status: remaining.length > 0 ? ('partial' as const) : ('done' as const), remaining };
    return { kind: 'finish', text: `${text}\n\n${renderClaim({ ...claim, nextSteps: [] })}` };
  };
  if (ask.kind === 'wrap_up') return stop(progress.actions.slice(progress.done).map(describeAction));
  if (ask.kind === 'verify') {
    const calls = rereads(unseen(ask.files, o.past, ask.since), o);
    return calls.length > 0 ? { kind: 'call', calls } : { kind: 'finish', text };
  }
  const what = ask.kind === 'repair' ? 'a reply that fits' : 'what the second check objects to';
  return stop([`${what}: offline/runbook reports what it ran, and can do nothing else`]);
}

const NO_MODEL =
  'No model is configured: this profile runs on offline/runbook, which carries out fenced sh blocks, writes fenced ' +
  'blocks titled with a file path, calls tools by fenced blocks titled `tool <name>`, sends what begins with `@name:` ' +
  'to that peer, and nothing else. Set `model` in config.yaml for a brief in prose.';

const cannot = (brief: string, text: string): Decision => ({
  kind: 'finish',
  text: `${text}\n\n${renderClaim({ status: 'partial', remaining: [brief], nextSteps: [] })}`,
});

/** One call, or all files up to the next one that is none; with the last of them a look at all that was written. */
function nextCalls({ actions, done }: Progress, o: RunbookConversation): Call[] {
  const next = actions.slice(done);
  const other = next.findIndex(({ tool }) => tool !== 'write_file');
  const batch = other === -1 ? next : next.slice(0, Math.max(1, other));
  if (batch.length < next.length) return batch;
  return [...batch, ...rereads(writtenPaths([...o.past, ...batch]), o)];
}

const WRITES = new Set(['write_file', 'edit_file']);

const writtenPaths = (calls: readonly { tool: string; input: JsonValue }[]): string[] =>
  calls.flatMap(({ tool, input }) => (WRITES.has(tool) ? [field(input, 'path') ?? ''] : []));

/** Files that were written and not looked at after so many calls. */
const unreadSince = (past: readonly PastCall[], from: number): string[] =>
  unseen(writtenPaths(past), past, from);

function unseen(paths: readonly string[], past: readonly PastCall[], from: number): string[] {
  const seen = new Set(past.slice(from).map(({ input }) => field(input, 'path')));
  return paths.filter((path) => !seen.has(path));
}

const rereads = (paths: readonly string[], { tools }: RunbookConversation): Call[] =>
  tools.has('read_file') ? [...new Set(paths)].map((path) => ({ tool: 'read_file', input: { path } })) : [];

function finish(o: RunbookConversation, { actions, done }: Progress, end: PastCall['outcome']): Decision {
  const text = o.json ? JSON.stringify(facts(o.past), null, 2) : summary(o.past, end);
  if (end === 'ok') return { kind: 'finish', text };
  const remaining = actions.slice(done).map(describeAction);
  const status = done > 0 || end === 'unknown' ? 'partial' : 'error';
  return { kind: 'finish', text: `${text}\n\n${renderClaim({ status, remaining, nextSteps: [] })}` };
}
