import type { ToolResult } from '@hermes-fleet/protocol';
import type { AgentConfig } from '../config/config.ts';
import type { GuardStop, LoopCounts } from '../run/guard-state.ts';
import type { GuardedCall } from '../run/guards.ts';
import { commandWords } from './commands/command-words.ts';
import { shellCommands } from './commands/shell-line.ts';
import { callKey, errorKey } from './loop-keys.ts';
import type { Verified } from './verification.ts';

/** Maximum entries per counter; the oldest is dropped first. */
const MAX_COUNTED = 256;
/** In characters; longer paths keep their end. */
const MAX_NAME = 200;

export interface LoopFinding {
  readonly notes: readonly string[];
  readonly stop?: GuardStop;
}

const LEVELS = ['none', 'warn', 'harder', 'stop'] as const;
const STOP = LEVELS.indexOf('stop');

export interface LoopDetector {
  /** Counts a finished call. */
  after(call: GuardedCall, result: ToolResult, verified: Verified): LoopFinding;
}

/** Limits for a threshold; the default threshold 3 gives those in docs/agent.md#guards. */
export function loopLimits(threshold: number): { file: Limits; total: Limits; same: Limits } {
  const scaled = (of3: number): number => Math.ceil((of3 * threshold) / 3);
  return {
    file: { warn: scaled(3), harder: scaled(6), stop: scaled(12) },
    total: { warn: scaled(8), stop: scaled(16) },
    same: { warn: scaled(3), stop: scaled(5) },
  };
}

/**
 * Detects a model that repeats itself (docs/agent.md#guards). It keeps four counters:
 * - consecutive edits of one file, reset when another file is edited or a verification runs;
 * - total edits of all files edited more than once, which catches alternation between files;
 * - identical successful calls, reset when a file is edited;
 * - identical errors.
 * A passing check resets all counters. Reading a file again, where that verifies it, resets that file's counts. Each
 * warning level is given once until a check passes. The detector continues from `counts` and mutates it.
 */
export function createLoopDetector(
  hooks: AgentConfig['hooks'],
  counts: LoopCounts,
  onGuard?: (guard: string, level: string) => void,
): LoopDetector {
  const limits = loopLimits(hooks.loopDetectionThreshold);

  /** The warning or stop for a level that `count` reaches for the first time. */
  function reached(what: string, count: number, limit: Limits, messages: Messages): LoopFinding {
    const level = levelOf(count, limit);
    if (level <= (lookUp(counts.warned, what) ?? 0)) return { notes: [] };
    put(counts.warned, what, level);
    onGuard?.('loop', LEVELS[level] ?? 'stop');
    if (level < STOP) return { notes: [messages.warning(level > 1)] };
    return { notes: [], stop: { guard: 'loop', reason: messages.stop } };
  }

  function edited(name: string): LoopFinding[] {
    const path = name.slice(-MAX_NAME);
    const edits = counts.streak?.path === path ? counts.streak.edits + 1 : 1;
    counts.streak = { path, edits };
    put(counts.edits, path, (lookUp(counts.edits, path) ?? 0) + 1);
    const again = counts.edits.filter(([, count]) => count > 1);
    const total = again.reduce((sum, [, count]) => sum + count, 0);
    const names = again.map(([one]) => one);
    return [
      reached(`file ${path}`, edits, limits.file, fileMessages(path, edits, limits.file)),
      reached('edits', total, limits.total, totalMessages(names, total, limits.total)),
    ];
  }

  function repeated(
    list: LoopCounts['calls'],
    what: string,
    key: string,
    messagesFor: (count: number) => Messages,
  ) {
    const count = (lookUp(list, key) ?? 0) + 1;
    put(list, key, count);
    return reached(`${what} ${key}`, count, limits.same, messagesFor(count));
  }

  function clear(passed: Verified['passed']): void {
    if (passed === undefined) return;
    if (passed === 'all') {
      counts.streak = undefined;
      for (const list of [counts.edits, counts.calls, counts.errors, counts.warned]) list.length = 0;
      return;
    }
    const path = passed.path.slice(-MAX_NAME);
    drop(counts.edits, path);
    drop(counts.warned, `file ${path}`);
  }

  return {
    after(call, result, { wrote, passed, tried }) {
      if (!hooks.loopDetection) return { notes: [] };
      clear(passed);
      if (tried) counts.streak = undefined;
      const { tool } = call;
      const key = callKey(call, result);
      if (wrote.length > 0) counts.calls = counts.calls.filter(([one]) => one === key);
      const found = [...new Set(wrote)].flatMap(edited);
      if (!result.ok) {
        const messagesFor = (count: number) => errorMessages(tool, count, limits.same);
        found.push(repeated(counts.errors, 'error', errorKey(call, result), messagesFor));
      } else if (isWait(call)) {
        counts.calls = [];
      } else if (passed !== 'all') {
        found.push(repeated(counts.calls, 'call', key, (count) => callMessages(tool, count, limits.same)));
      }
      const stop = found.find((one) => one.stop !== undefined)?.stop;
      return { notes: found.flatMap(({ notes }) => notes), ...(stop && { stop }) };
    },
  };
}

function levelOf(count: number, { warn, harder, stop }: Limits): number {
  if (count >= stop) return STOP;
  if (harder !== undefined && count >= harder) return LEVELS.indexOf('harder');
  return count >= warn ? LEVELS.indexOf('warn') : 0;
}

/** True for a command that sleeps: the next look may legitimately find something new. */
function isWait({ tool, input }: GuardedCall): boolean {
  if (tool !== 'shell_exec' || typeof input !== 'object' || input === null || !('command' in input))
    return false;
  const commands = typeof input.command === 'string' ? shellCommands(input.command) : [];
  return commands.some(({ words }) => {
    const command = commandWords(words);
    return command?.program === 'sleep' && Number.parseFloat(command.args[0] ?? '') >= 1;
  });
}

type Counts = LoopCounts['calls'];

const lookUp = (list: Counts, key: string): number | undefined => list.find(([one]) => one === key)?.[1];

function put(list: Counts, key: string, count: number): void {
  drop(list, key);
  list.push([key, count]);
  if (list.length > MAX_COUNTED) list.shift();
}

function drop(list: Counts, key: string): void {
  const at = list.findIndex(([one]) => one === key);
  if (at !== -1) list.splice(at, 1);
}

/** Counts that trigger a warning, a stronger warning, and the end of the run. */
interface Limits {
  readonly warn: number;
  readonly harder?: number;
  readonly stop: number;
}

/** The warning for the model, and the reason in the result when the run is stopped. */
interface Messages {
  warning(harder: boolean): string;
  readonly stop: string;
}

const MAX_LISTED = 5;

/** Edits of one file. */
const fileMessages = (path: string, count: number, { stop }: Limits): Messages => ({
  warning: (harder) =>
    harder
      ? `You've edited ${path} ${count} times, and no check has passed since. Stop editing it: read the task again, find ` +
        `out what is really wrong, and try a fundamentally different solution. At ${stop} edits the run is ended.`
      : `You've edited ${path} ${count} times. Consider stepping back: is your approach correct, or should you try a ` +
        'fundamentally different solution?',
  stop: `${path} was edited ${count} times, and no check passed`,
});

/** Alternating edits of several files. */
const totalMessages = (paths: readonly string[], count: number, { stop }: Limits): Messages => ({
  warning: () =>
    `You've edited the same files (${listed(paths)}) ${count} times since a check passed. Verify what you have before ` +
    `you edit any further, or try a fundamentally different solution. At ${stop} edits the run is ended.`,
  stop: `the same files (${listed(paths)}) were edited ${count} times, and no check passed`,
});

const callMessages = (tool: string, count: number, { stop }: Limits): Messages => ({
  warning: () =>
    `You've called ${tool} ${count} times with the same input. It will come to the same again: do something else, or ` +
    `finish. At ${stop} calls the run is ended.`,
  stop: `${tool} was called ${count} times with the same input`,
});

const errorMessages = (tool: string, count: number, { stop }: Limits): Messages => ({
  warning: () =>
    `${tool} has failed ${count} times with the same error. Don't try the same again: find out why it fails, or do it ` +
    `another way. At ${stop} failures the run is ended.`,
  stop: `${tool} failed ${count} times with the same error`,
});

function listed(paths: readonly string[]): string {
  const more = paths.length > MAX_LISTED ? ` and ${paths.length - MAX_LISTED} more` : '';
  return `${paths.slice(-MAX_LISTED).join(', ')}${more}`;
}
