import type { Evidence, TaskResult } from '@hermes-fleet/protocol/handshake';
import { line } from '../command-line/output.ts';
import { resultIn, type Sent } from './messages.ts';

/** The answer to a message, and the latency that the caller measured. */
export interface Answered {
  readonly result: Sent;
  readonly ms: number;
}

/** A dispatch of the demo: its result as lines to print, and how it differs from what was expected. */
export interface Step {
  readonly lines: readonly string[];
  readonly problems: readonly string[];
  readonly tokens: number;
}

type Read = (result: TaskResult) => Pick<Step, 'lines' | 'problems'>;

const stepOf =
  (read: Read) =>
  ({ result: answer, ms }: Answered): Step => {
    const result = resultIn(answer);
    const { lines, problems } = read(result);
    const { status, tokensSpent: tokens } = result;
    const figures = [line('tokens', String(tokens)), line('took', duration(ms))];
    return { lines: [line('status', status), ...lines, ...figures], problems, tokens };
  };

/** A dispatch that a worker runs; `file` must be among the changed files. */
export const readDone = (file: string) =>
  stepOf((result) => {
    const files = result.artifacts.filesChanged;
    return {
      lines: [
        line('worker', result.executedBy ?? 'unknown'),
        line('files', files.join(', ') || 'none'),
        ...(result.evidence ?? []).flatMap(commandLines),
      ],
      problems: [
        ...(result.status === 'done' ? [] : [`the status is ${result.status}, not done${reasonOf(result)}`]),
        ...(files.includes(file) ? [] : [`${file} is not among the changed files`]),
        ...(result.tokensSpent > 0 ? [] : ['no tokens are accounted for']),
      ],
    };
  });

/** A dispatch that is blocked before it costs a token. */
export const readBlocked = stepOf((result) => ({
  lines: [line('reason', result.blockedReason ?? 'none')],
  problems: notBlocked(result),
}));

/** A dispatch that is offered to one worker after the other and refused by all of them. */
export const readRefusedByAll = stepOf((result) => {
  const attempts = result.attempts ?? [];
  return {
    lines: attempts.map(({ peer, status, reason }) =>
      line(`- ${peer}`, [status, reason].filter(Boolean).join(': ')),
    ),
    problems: [
      ...notBlocked(result),
      ...(attempts.length > 1 ? [] : [`it was not passed on: ${attempts.length} worker was asked`]),
    ],
  };
});

const duration = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

function notBlocked(result: TaskResult): string[] {
  return [
    ...(result.status === 'blocked'
      ? []
      : [`the status is ${result.status}, not blocked${reasonOf(result)}`]),
    ...(result.tokensSpent === 0 ? [] : [`${result.tokensSpent} tokens were spent on it`]),
  ];
}

function reasonOf({ blockedReason, error, remaining }: TaskResult): string {
  const reason = blockedReason ?? error?.message ?? remaining?.join('; ');
  return reason ? ` (${reason})` : '';
}

function commandLines({ kind, detail, exitCode }: Evidence): string[] {
  if (kind !== 'command') return [];
  const code = typeof exitCode === 'number' ? ` (exit code ${exitCode})` : '';
  return [line('ran', `${detail.trim().replaceAll('\n', '; ')}${code}`)];
}
