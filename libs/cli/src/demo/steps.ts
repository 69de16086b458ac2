import type { Evidence, TaskResult } from '@hermes-fleet/protocol/handshake';
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

/** A dispatch that a worker runs; `file` must be among the changed files. */
export function readDone({ result: answer, ms }: Answered, file: string): Step {
  const result = resultIn(answer);
  const files = result.artifacts.filesChanged;
  return {
    lines: [
      row('status', result.status),
      row('worker', result.executedBy ?? 'unknown'),
      row('files', files.join(', ') || 'none'),
      ...(result.evidence ?? []).flatMap(commandRow),
      row('tokens', String(result.tokensSpent)),
      row('took', duration(ms)),
    ],
    problems: [
      ...(result.status === 'done' ? [] : [`the status is ${result.status}, not done${reasonOf(result)}`]),
      ...(files.includes(file) ? [] : [`${file} is not among the changed files`]),
      ...(result.tokensSpent > 0 ? [] : ['no tokens are accounted for']),
    ],
    tokens: result.tokensSpent,
  };
}

/** A dispatch that is blocked before it costs a token. */
export function readBlocked({ result: answer, ms }: Answered): Step {
  const result = resultIn(answer);
  return {
    lines: [
      row('status', result.status),
      row('reason', result.blockedReason ?? 'none'),
      row('tokens', String(result.tokensSpent)),
      row('took', duration(ms)),
    ],
    problems: notBlocked(result),
    tokens: result.tokensSpent,
  };
}

/** A dispatch that is offered to one worker after the other and refused by all of them. */
export function readRefusedByAll({ result: answer, ms }: Answered): Step {
  const result = resultIn(answer);
  const attempts = result.attempts ?? [];
  return {
    lines: [
      row('status', result.status),
      ...attempts.map(({ peer, status, reason }) =>
        row(`- ${peer}`, [status, reason].filter(Boolean).join(': ')),
      ),
      row('tokens', String(result.tokensSpent)),
      row('took', duration(ms)),
    ],
    problems: [
      ...notBlocked(result),
      ...(attempts.length > 1 ? [] : [`it was not passed on: ${attempts.length} worker was asked`]),
    ],
    tokens: result.tokensSpent,
  };
}

export const row = (name: string, value: string): string => `  ${name.padEnd(11)}${value}`;

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

function commandRow({ kind, detail, exitCode }: Evidence): string[] {
  if (kind !== 'command') return [];
  const code = typeof exitCode === 'number' ? ` (exit code ${exitCode})` : '';
  return [row('ran', `${detail.trim().replaceAll('\n', '; ')}${code}`)];
}
