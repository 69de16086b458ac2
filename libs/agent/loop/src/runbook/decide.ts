import type { JsonValue } from '@hermes-fleet/protocol';
import { renderClaim } from '../messages/final-message.ts';
import type { FollowUpKind } from '../messages/follow-up-prompts.ts';
import { filesOfDiff, renderVerdict } from '../messages/review-prompt.ts';
import { type Action, describeAction, parseRunbook, type Runbook } from './parse-runbook.ts';
import { facts, field, type PastCall, summary } from './report.ts';

export type Decision =
  | { readonly kind: 'call'; readonly calls: readonly Action[] }
  | { readonly kind: 'finish'; readonly text: string };

export interface RunbookConversation {
  readonly brief: string;
  readonly past: readonly PastCall[];
  readonly tools: ReadonlySet<string>;
  readonly json: boolean;
  readonly followUp?: FollowUp | undefined;
}

interface FollowUp {
  readonly kind: FollowUpKind;
  readonly since: number;
  readonly files: readonly string[];
}

/** How far the actions of a brief are carried out. */
interface Progress {
  readonly actions: readonly Action[];
  /** The number of actions that succeeded, from the first on. */
  readonly done: number;
  /** The outcome of the next action, when it ends the run. */
  readonly end: PastCall['outcome'] | undefined;
  /** The number of calls up to the last answered action. */
  readonly until: number;
}

/**
 * Decides by the brief and the conversation alone, so it survives a restart: the next action, a second look, the summary.
 * Stops at the first failure, and never repeats a call that may have had an effect.
 */
export function decide(conversation: RunbookConversation): Decision {
  const { brief, past, followUp } = conversation;
  const runbook = parseRunbook(brief);
  const { actions } = runbook;
  const obstacle = obstacleOf(runbook, conversation);
  if (obstacle !== undefined && (followUp === undefined || actions.length === 0))
    return refuse(brief, obstacle);
  const progress = progressOf(actions, past);
  if (followUp !== undefined) return answerFollowUp(conversation, followUp, progress);
  if (progress.end !== undefined) return finish(conversation, progress, progress.end);
  if (progress.done < actions.length) return { kind: 'call', calls: nextCalls(progress, conversation) };
  const last = rereads(unreadSince(past, progress.until), conversation);
  return last.length > 0 ? { kind: 'call', calls: last } : finish(conversation, progress, 'ok');
}

function obstacleOf({ actions, problems }: Runbook, { tools }: RunbookConversation): string | undefined {
  if (problems.length > 0) return `This brief cannot be carried out: ${problems.join('; ')}.`;
  if (actions.length === 0) return NO_MODEL;
  const missing = [...new Set(actions.map(({ tool }) => tool))].filter((tool) => !tools.has(tool));
  return missing.length > 0 ? `This brief needs ${missing.join(' and ')}, not available here.` : undefined;
}

/** Actions run in order and files are reread after the last of them, so the tool's name identifies an action's call. */
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

function answerFollowUp(
  conversation: RunbookConversation,
  { kind, files, since }: FollowUp,
  progress: Progress,
): Decision {
  const { json, past } = conversation;
  const text = json ? JSON.stringify(facts(past), null, 2) : summary(past, 'ok');
  const stop = (remaining: string[]): Decision => {
    const claim = { status: remaining.length > 0 ? ('partial' as const) : ('done' as const), remaining };
    return { kind: 'finish', text: `${text}\n\n${renderClaim({ ...claim, nextSteps: [] })}` };
  };
  if (kind === 'wrap_up') return stop(progress.actions.slice(progress.done).map(describeAction));
  if (kind === 'verify') {
    const calls = rereads(unread(files, past, since), conversation);
    return calls.length > 0 ? { kind: 'call', calls } : { kind: 'finish', text };
  }
  if (kind === 'summarize') return { kind: 'finish', text };
  const what = kind === 'repair' ? 'a reply that fits' : 'what the second check objects to';
  return stop([`${what}: offline/runbook reports what it ran, and can do nothing else`]);
}

const NO_MODEL =
  'No model is configured: this profile runs on offline/runbook, which carries out fenced sh blocks, writes fenced ' +
  'blocks titled with a file path, calls tools by fenced blocks titled `tool <name>`, sends what begins with `@name:` ' +
  'to that peer, and nothing else. Set `model` in config.yaml for a brief in prose.';

const refuse = (brief: string, text: string): Decision => ({
  kind: 'finish',
  text: `${text}\n\n${renderClaim({ status: 'partial', remaining: [brief], nextSteps: [] })}`,
});

/** One call, or all file writes up to the next other action. The last batch also rereads all written files. */
function nextCalls({ actions, done }: Progress, conversation: RunbookConversation): Action[] {
  const next = actions.slice(done);
  const other = next.findIndex(({ tool }) => tool !== 'write_file');
  const batch = other === -1 ? next : next.slice(0, Math.max(1, other));
  if (batch.length < next.length) return batch;
  return [...batch, ...rereads(writtenPaths([...conversation.past, ...batch]), conversation)];
}

const WRITES = new Set(['write_file', 'edit_file']);

const writtenPaths = (calls: readonly { tool: string; input: JsonValue }[]): string[] =>
  calls.flatMap(({ tool, input }) => (WRITES.has(tool) ? [field(input, 'path') ?? ''] : []));

const unreadSince = (past: readonly PastCall[], from: number): string[] =>
  unread(writtenPaths(past), past, from);

function unread(paths: readonly string[], past: readonly PastCall[], from: number): string[] {
  const seen = new Set(past.slice(from).map(({ input }) => field(input, 'path')));
  return paths.filter((path) => !seen.has(path));
}

const rereads = (paths: readonly string[], { tools }: Pick<RunbookConversation, 'tools'>): Action[] =>
  tools.has('read_file') ? [...new Set(paths)].map((path) => ({ tool: 'read_file', input: { path } })) : [];

function finish(
  { json, past }: RunbookConversation,
  { actions, done }: Progress,
  end: PastCall['outcome'],
): Decision {
  const text = json ? JSON.stringify(facts(past), null, 2) : summary(past, end);
  if (end === 'ok') return { kind: 'finish', text };
  const remaining = actions.slice(done).map(describeAction);
  const status = done > 0 || end === 'unknown' ? 'partial' : 'error';
  return { kind: 'finish', text: `${text}\n\n${renderClaim({ status, remaining, nextSteps: [] })}` };
}

const MAX_REVIEWED_FILES = 20;
const REVIEWED: Readonly<Record<PastCall['outcome'], string>> = {
  ok: 'is there',
  failed: 'could not be read',
  unknown: 'was not read',
  not_run: 'was not read',
};

/** As a reviewer, offline/runbook rereads the files of the diff, reports which exist, and gives no judgment. */
export function decideReview(review: {
  readonly request: string;
  readonly past: readonly PastCall[];
  readonly tools: ReadonlySet<string>;
}): Decision {
  const files = filesOfDiff(review.request).slice(0, MAX_REVIEWED_FILES);
  const outcomes = new Map(review.past.map(({ input, outcome }) => [field(input, 'path'), outcome]));
  const calls = rereads(
    files.filter((path) => !outcomes.has(path)),
    review,
  );
  if (calls.length > 0) return { kind: 'call', calls };
  const lines = files.map((path) => `${path} ${REVIEWED[outcomes.get(path) ?? 'unknown']}`);
  const text = `offline/runbook looks and does not judge: ${lines.join(', ') || 'no file to read'}.`;
  return { kind: 'finish', text: `${text}\n\n${renderVerdict('not_judged')}` };
}
