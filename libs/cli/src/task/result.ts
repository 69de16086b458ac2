import type { PeerArtifact, PeerTask } from '@hermes-fleet/a2a/client';
import { FleetError, isAsking, type JsonObject, type ResultStatus } from '@hermes-fleet/protocol';
import { type Delivery, decodeResult, type TaskResult } from '@hermes-fleet/protocol/handshake';
import { RESERVED_ARTIFACTS } from '@hermes-fleet/protocol/ports';
import { line, sanitize } from '../command-line/output.ts';
import type { Reachable } from '../running/reachable.ts';
import { duration } from './live-task.ts';

const EXIT_CODES: Readonly<Record<string, number>> = {
  done: 0,
  error: 1,
  blocked: 3,
  partial: 4,
} satisfies Record<ResultStatus, number>;

/**
 * The TASK_RESULT that names the commits of a task, which may be a late one, as the profile serves them; `resultOf` where none does
 * (docs/handshake.md#late-results).
 */
export function deliveredResult(task: PeerTask): TaskResult | undefined {
  const results = task.data.filter(isResult).map(decode);
  return results.find((each) => each?.artifacts.delivery !== undefined) ?? results[0];
}

/** The TASK_RESULT of a task; undefined where there is none, as from an agent that does not know the handshake. */
export function resultOf(task: PeerTask): TaskResult | undefined {
  const wire = wireResult(task);
  return wire === undefined ? undefined : decode(wire);
}

const isResult = ({ type }: JsonObject): boolean => type === 'TASK_RESULT';

const wireResult = ({ data }: PeerTask): JsonObject | undefined => data.find(isResult);

/** A newer peer may send a result that this version cannot read: its task still has a state and a text. */
function decode(wire: JsonObject): TaskResult | undefined {
  try {
    return decodeResult(wire);
  } catch (error) {
    if (error instanceof FleetError && error.code === 'INVALID_PARAMS') return undefined;
    throw error;
  }
}

/**
 * The exit code of a command that waited for a task: 0 done, 1 failed, rejected or canceled, 3 blocked, 4 partial. A task
 * that waits for its caller is blocked too.
 */
export function exitCodeOf(task: PeerTask): number {
  if (!task.terminal) return 3;
  if (task.state === 'canceled') return 1;
  const status = wireResult(task)?.status;
  return typeof status === 'string' ? (EXIT_CODES[status] ?? 1) : task.state === 'completed' ? 0 : 1;
}

/** The document of a task for `-o json` and `-o yaml` (docs/cli.md#tasks). */
export function taskDocument(task: PeerTask, profile: string): JsonObject {
  return {
    id: task.id,
    context_id: task.contextId,
    profile,
    state: task.state,
    question: isAsking(task.state) ? task.statusText : null,
    text: task.text,
    result: wireResult(task) ?? null,
    artifacts: addedArtifacts(task).map((artifact) => JSON.parse(JSON.stringify(artifact))),
  };
}

/** The artifacts of a task beside those of its TASK_RESULT. */
export function addedArtifacts(task: PeerTask): readonly PeerArtifact[] {
  if (wireResult(task) === undefined) return task.artifacts;
  return task.artifacts.filter(({ id }) => !RESERVED_ARTIFACTS.has(id));
}

/** The result of a task for a person: what was done, files, evidence, what was spent, and where. Sanitized. */
export function renderTask(task: PeerTask): string[] {
  const result = resultOf(task);
  const ids = [row('task', task.id), ...(task.contextId === '' ? [] : [row('context', task.contextId)])];
  if (!task.terminal) return [row('state', task.state.replaceAll('_', ' ')), ...question(task), ...ids];
  const text = result === undefined ? task.text : (result.text ?? '');
  return [
    ...(text.trim() === '' ? [] : [...paragraphs(text), '']),
    row('status', result?.status ?? task.state),
    ...(result === undefined ? reason(task.state === 'completed' ? '' : task.statusText) : detailsOf(result)),
    ...addedArtifacts(task).flatMap((each) => artifactRows(each, result)),
    ...ids,
  ];
}

const question = (task: PeerTask): string[] => (isAsking(task.state) ? [row('asks', task.statusText)] : []);
const reason = (text: string | null | undefined): string[] => (text ? [row('reason', text)] : []);

function detailsOf(result: TaskResult): string[] {
  const { artifacts, evidence = [], remaining = [], nextSteps, unmet = [], error, usage } = result;
  const seconds = result.durationMs === undefined ? '' : ` in ${duration(result.durationMs)}`;
  const model = usage && usage.model !== 'relay' ? `, ${usage.model}` : '';
  return [
    ...reason(result.blockedReason ?? error?.message),
    ...unmet.map(({ kind, detail }) => row(`- ${kind}`, detail)),
    ...list('files', artifacts.filesChanged),
    ...deliveryRows(artifacts.delivery),
    ...(artifacts.pr ? [row('request', artifacts.pr)] : []),
    ...list(
      'evidence',
      evidence.map(({ kind, detail, exitCode }) => {
        const code = typeof exitCode === 'number' ? ` (exit code ${exitCode})` : '';
        return `${kind}: ${detail.trim().replaceAll('\n', '; ')}${code}`;
      }),
    ),
    ...(result.output === undefined ? [] : [row('output', JSON.stringify(result.output))]),
    ...list('remaining', remaining),
    ...list('next', nextSteps),
    row('spent', `${result.tokensSpent} tokens${seconds}${model}`),
    ...(result.executedBy === undefined ? [] : [row('by', result.executedBy)]),
    ...freshRow(result),
  ];
}

/** That a further task of a context went to another worker than the earlier ones. */
const freshRow = ({ contextFresh, executedBy = 'another worker' }: TaskResult): string[] =>
  contextFresh
    ? [row('fresh', `the context began anew at ${executedBy}: its earlier files are not there`)]
    : [];

/** The branch and the commit of a result, in the repository of its worker. */
function deliveryRows(delivery: Delivery | undefined): string[] {
  if (delivery === undefined) return [];
  return [
    row('branch', delivery.branch),
    row('commit', delivery.commit ?? 'none: the files are not committed'),
  ];
}

/** The commands that show and take the files of a result; none where there are no commits to take. */
export function howToTake(task: PeerTask, { target }: Pick<Reachable, 'target'>): string[] {
  if (target === undefined || !deliveredResult(task)?.artifacts.delivery?.commit) return [];
  return [`to see it: fleet diff ${task.id}`, `to take it: fleet pull ${task.id}`];
}

/** The parts that an agent made beside its result; the content of a file is not printed. */
function artifactRows({ id, name, parts }: PeerArtifact, result: TaskResult | undefined): string[] {
  return parts.flatMap((part) => {
    const of = `${name ?? id}: `;
    // Without a TASK_RESULT, the text of the task is that of its artifacts.
    if (part.kind === 'text') return result === undefined ? [] : row('artifact', `${of}${part.text}`);
    if (part.kind === 'data') return row('artifact', `${of}${JSON.stringify(part.data)}`);
    const size = part.bytes === undefined ? part.url : `${part.bytes} bytes`;
    return row('artifact', `${of}${[part.name, part.mediaType, size].filter(Boolean).join(', ')}`);
  });
}

const list = (name: string, values: readonly string[]): string[] =>
  values.map((value, at) => row(at === 0 ? name : '', value));

const row = (name: string, value: string): string => sanitize(line(name, value));

/** The lines of a text that may have several. */
const paragraphs = (text: string): string[] => text.trimEnd().split('\n').map(sanitize);
