import type { ToolResult } from '@hermes-fleet/protocol';
import type { AgentConfig } from '../config/config.ts';
import type { GuardStop, LoopCounts } from '../run/guard-state.ts';
import type { GuardedCall } from '../run/guards.ts';
import { commandWords } from './commands/command-words.ts';
import { shellCommands } from './commands/shell-line.ts';
import { callKey, errorKey } from './loop-keys.ts';
import { callWords, errorWords, fileWords, type Limits, totalWords, type Words } from './loop-words.ts';
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
  function reached(what: string, count: number, limit: Limits, words: Words): LoopFinding {
    const level = levelOf(count, limit);
    if (level <= (lookUp(counts.warned, what) ?? 0)) return { notes: [] };
    put(counts.warned, what, level);
    onGuard?.('loop', LEVELS[level] ?? 'stop');
    if (level < STOP) return { notes: [words.warning(level > 1)] };
    return { notes: [], stop: { guard: 'loop', reason: words.stop } };
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
      reached(`file ${path}`, edits, limits.file, fileWords(path, edits, limits.file)),
      reached('edits', total, limits.total, totalWords(names, total, limits.total)),
    ];
  }

  function repeated(list: LoopCounts['calls'], what: string, key: string, words: (count: number) => Words) {
    const count = (lookUp(list, key) ?? 0) + 1;
    put(list, key, count);
    return reached(`${what} ${key}`, count, limits.same, words(count));
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
        const words = (count: number) => errorWords(tool, count, limits.same);
        found.push(repeated(counts.errors, 'error', errorKey(call, result), words));
      } else if (isWait(call)) {
        counts.calls = [];
      } else if (passed !== 'all') {
        found.push(repeated(counts.calls, 'call', key, (count) => callWords(tool, count, limits.same)));
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
