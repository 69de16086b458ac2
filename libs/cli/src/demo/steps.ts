import type { Evidence, TaskResult } from '@hermes-fleet/protocol';
import type { Answer } from '../client/rpc.ts';
import { resultIn } from './messages.ts';

/** One dispatch of the demo: what came back, in lines for people, and what of it is not as it should be. */
export interface Flight {
  readonly lines: readonly string[];
  readonly problems: readonly string[];
  readonly tokens: number;
}

/** Reads a dispatch that somebody did. */
export function readDone(answer: Answer, file: string): Flight {
  const result = resultIn(answer);
  const files = result.artifacts.filesChanged;
  return {
    lines: [
      row('status', result.status),
      row('worker', result.executedBy ?? 'not said'),
      row('files', files.join(', ') || 'none'),
      ...(result.evidence ?? []).flatMap(checked),
      row('tokens', String(result.tokensSpent)),
      row('took', duration(answer.ms)),
    ],
    problems: [
      ...(result.status === 'done' ? [] : [`the status is ${result.status}, not done${why(result)}`]),
      ...(files.includes(file) ? [] : [`${file} is not among the changed files`]),
      ...(result.tokensSpent > 0 ? [] : ['no token is accounted for']),
    ],
    tokens: result.tokensSpent,
  };
}

/** Reads a dispatch that must not have cost anything. */
export function readBlocked(answer: Answer): Flight {
  const result = resultIn(answer);
  return {
    lines: [
      row('status', result.status),
      row('reason', result.blockedReason ?? 'none'),
      row('tokens', String(result.tokensSpent)),
      row('took', duration(answer.ms)),
    ],
    problems: notBlocked(result),
    tokens: result.tokensSpent,
  };
}

/** Reads a dispatch that went from worker to worker until nobody was left. */
export function readHandedBack(answer: Answer): Flight {
  const result = resultIn(answer);
  const attempts = result.attempts ?? [];
  return {
    lines: [
      row('status', result.status),
      ...attempts.map(({ peer, status, reason }) =>
        row(`- ${peer}`, [status, reason].filter(Boolean).join(': ')),
      ),
      row('tokens', String(result.tokensSpent)),
      row('took', duration(answer.ms)),
    ],
    problems: [
      ...notBlocked(result),
      ...(attempts.length > 1 ? [] : [`${attempts.length} worker was asked: it was not passed on`]),
    ],
    tokens: result.tokensSpent,
  };
}

export const row = (name: string, value: string): string => `  ${name.padEnd(11)}${value}`;

export const duration = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

function notBlocked(result: TaskResult): string[] {
  return [
    ...(result.status === 'blocked' ? [] : [`the status is ${result.status}, not blocked${why(result)}`]),
    ...(result.tokensSpent === 0 ? [] : [`${result.tokensSpent} tokens were spent on it`]),
  ];
}

function why({ blockedReason, error, remaining }: TaskResult): string {
  const reason = blockedReason ?? error?.message ?? remaining?.join('; ');
  return reason ? ` (${reason})` : '';
}

const checked = ({ kind, detail, exitCode }: Evidence): string[] =>
  kind === 'command'
    ? [
        row(
          'ran',
          `${detail.trim().replaceAll('\n', '; ')}${typeof exitCode === 'number' ? ` (exit code ${exitCode})` : ''}`,
        ),
      ]
    : [];
