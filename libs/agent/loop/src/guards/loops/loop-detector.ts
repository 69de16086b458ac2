import type { ToolResult } from '@hermes-fleet/protocol/ports';
import type { AgentConfig } from '../../config/config-yaml.ts';
import type { GuardedCall, Verified } from '../../run/guards.ts';
import type { GuardStop, LoopCounts } from '../../run/run-state.ts';
import { type CallKind, kindOf, namedFiles, runningAfter } from './call-kinds.ts';
import { type EditJudgment, editedAgain, judgeEdit, settleEdits } from './edit-history.ts';
import { type Edit, editsOf } from './edits.ts';
import { callKey, errorKey, resultKey } from './loop-keys.ts';
import * as messages from './loop-messages.ts';

/** Maximum entries per list; the oldest is dropped first. */
const MAX_COUNTED = 128;
const MAX_SEEN = 256;
/** In characters; longer paths keep their end. */
const MAX_NAME = 200;
/** What a repetition adds to the score, and what news takes off. */
const CIRCLE = 2;
const NEWS = 1;
/** The subject of a warning about consecutive edits. */
const FILE = 'file ';

interface Edited {
  readonly writes: EditJudgment['writes'];
  /** True if it only writes what other files hold: an error that comes after it is no other one. */
  readonly copies: boolean;
  readonly notes: readonly string[];
}

/** Limits for a threshold; the default threshold 3 gives those in docs/agent.md#guards. */
function limitsFor(threshold: number) {
  const scaled = (of3: number): number => Math.ceil((of3 * threshold) / 3);
  return { warn: scaled(3), harder: scaled(6), scoreWarn: scaled(4), scoreStop: scaled(6) };
}

/**
 * Detects a model that goes in circles (docs/agent.md#guards). Calls that come to the same, and edits that restore, repeat
 * or rewrite, raise a score; news lowers it, and a passing check clears it. The run ends between two steps, at the limit,
 * if a call of the last step repeated something after a warning. Mutates `state`.
 */
export function createLoopDetector(
  hooks: AgentConfig['hooks'],
  state: LoopCounts,
  onGuard?: (guard: string, level: string) => void,
) {
  const limits = limitsFor(hooks.loopDetectionThreshold);

  /** The warning, if its level was not given before. */
  function warned(what: string, level: number, text: string): string[] {
    if (level <= (lookUp(state.warned, what) ?? 0)) return [];
    put(state.warned, what, level);
    onGuard?.('loop', level > 1 ? 'harder' : 'warn');
    return [text];
  }

  /** A warning about a circle: if the model goes on although it has seen it, the run ends. */
  function warnedOfCircle(what: string, text: string): string[] {
    const notes = warned(what, 1, text);
    if (notes.length > 0) state.warned_at ??= state.step;
    return notes;
  }

  function circled(reason: string): void {
    state.score = Math.min(state.score + CIRCLE, limits.scoreStop + CIRCLE);
    state.circled_at = state.step;
    state.subject = reason;
  }

  function news(): void {
    state.news = state.ended;
    state.score = Math.max(0, state.score - NEWS);
    for (const list of [state.calls, state.errors]) {
      for (const entry of list) entry[1] -= 1;
    }
    state.calls = state.calls.filter(([, count]) => count > 0);
    state.errors = state.errors.filter(([, count]) => count > 0);
    if (state.score > 0) return;
    state.warned_at = undefined;
    state.warned = state.warned.filter(([what]) => what.startsWith(FILE));
  }

  function changed(copies = false): void {
    state.calls = [];
    if (!copies) state.errors = [];
  }

  function forgetBut(key: string): void {
    state.calls = state.calls.filter(([one]) => one === key);
  }

  function settle(): void {
    Object.assign(state, { calls: [], errors: [], warned: [], score: 0, settled: true });
    state.streak = undefined;
    state.warned_at = undefined;
    state.circled_at = undefined;
    state.subject = undefined;
    settleEdits(state);
  }

  /** Consecutive edits of one file. */
  function streak(name: string): string[] {
    const path = name.slice(-MAX_NAME);
    const edits = state.streak?.path === path ? state.streak.edits + 1 : 1;
    state.streak = { path, edits };
    const level = edits >= limits.harder ? 2 : edits >= limits.warn ? 1 : 0;
    return warned(`${FILE}${path}`, level, messages.fileWarning(path, edits, level > 1));
  }

  /** Edits whose content is known. Returns what they write; undefined without any. */
  function edited(call: GuardedCall, wrote: readonly string[]): Edited | undefined {
    const edits = editsOf(call, wrote).map((edit) => ({ ...edit, path: edit.path.slice(-MAX_NAME) }));
    if (edits.length === 0) return undefined;
    const copies = edits.map(isCopy).every((isOne) => isOne);
    const judged = edits.map((edit) => judgeEdit(state, edit, (at) => state.looked > at));
    if (judged.some(({ circles }) => circles)) {
      const again = editedAgain(state);
      const paths = again.paths.length > 0 ? again.paths : edits.map(({ path }) => path);
      circled(messages.editsReason(paths));
      if (state.score < limits.scoreWarn) return { writes: 'nothing', copies, notes: [] };
      const count = Math.max(again.edits, edits.length);
      return {
        writes: 'nothing',
        copies,
        notes: warnedOfCircle('edits', messages.editsWarning(paths, count)),
      };
    }
    const writes = (['news', 'new'] as const).find((one) => judged.some((edit) => edit.writes === one));
    return { writes: copies && writes === 'news' ? 'new' : (writes ?? 'nothing'), copies, notes: [] };
  }

  /** True for the content of another file in a new file, as one that writes each attempt into a file of its own makes. */
  function isCopy({ path, content }: Edit): boolean {
    if (content === undefined) return false;
    const isKnown = state.seen.includes(content);
    state.seen = [...state.seen.filter((key) => key !== content), content].slice(-MAX_SEEN);
    return isKnown && !state.history.some((one) => one.path === path);
  }

  /** A call that came to the same as before. */
  function repeated(call: GuardedCall, result: ToolResult, { free, checks }: CallKind): string[] {
    const key = callKey(call, result, checks || !result.ok);
    const count = raise(state.calls, key);
    const shown = result.ok ? resultKey(call, result) : undefined;
    const same = shown === undefined ? 0 : raise(state.calls, shown);
    const most = Math.max(count, same) - free;
    if (most < limits.warn) return [];
    const isCall = count - free >= limits.warn;
    circled(isCall ? messages.callReason(call.tool) : messages.resultReason);
    return isCall
      ? warnedOfCircle(`call ${key}`, messages.callWarning(call.tool, count))
      : warnedOfCircle(`call ${shown}`, messages.resultWarning(same));
  }

  function failed(call: GuardedCall, result: ToolResult, { free }: CallKind): string[] {
    const key = errorKey(call, result);
    const count = raise(state.errors, key);
    if (count - free < limits.warn) return [];
    circled(messages.errorReason(call.tool));
    return warnedOfCircle(`error ${key}`, messages.errorWarning(call.tool, count));
  }

  /** True if the call shows something for the first time. */
  function isUnseen(call: GuardedCall, result: ToolResult, { checks }: CallKind): boolean {
    const keys = [
      callKey(call, result, checks || !result.ok),
      result.ok ? resultKey(call, result) : errorKey(call, result),
    ];
    const own = keys.filter((key) => key !== undefined);
    const isKnown = own.some((key) => state.seen.includes(key));
    state.seen = [...state.seen.filter((key) => !own.includes(key)), ...own].slice(-MAX_SEEN);
    return !isKnown;
  }

  return {
    /** Counts a finished call. Returns the warnings for the model. */
    after(call: GuardedCall, result: ToolResult, { wrote, passed, tried }: Verified): readonly string[] {
      if (!hooks.loopDetection) return [];
      state.ended += 1;
      state.processes = runningAfter(state.processes, call, result);
      const kind = kindOf(call, result, passed === 'all', state.processes.length > 0);
      const isUnknown = isUnseen(call, result, kind);
      if (passed === 'all' && !state.settled) {
        settle();
        edited(call, wrote);
        repeated(call, result, kind);
        state.looked = state.ended;
        return [];
      }
      if (typeof passed === 'object') drop(state.warned, `${FILE}${passed.path.slice(-MAX_NAME)}`);
      if (tried) state.streak = undefined;
      const notes = [...new Set(wrote)].flatMap(streak);
      const edits = wrote.length > 0 ? edited(call, wrote) : undefined;
      const changes =
        edits !== undefined || (isUnknown && (wrote.length > 0 || changesElsewhere(call, result)));
      if (changes) changed(edits?.copies);
      const writes = edits?.writes ?? (changes ? 'news' : 'nothing');
      if (writes !== 'nothing') state.settled = false;
      if (writes === 'news') news();
      if (isUnknown && !changes && !looksAtEdited(call)) news();
      if (edits !== undefined) notes.push(...edits.notes);
      else if (!result.ok) notes.push(...failed(call, result, kind));
      else notes.push(...repeated(call, result, kind));
      if (kind.waits) forgetBut(callKey(call, result, kind.checks || !result.ok));
      if (tried || (call.tool === 'shell_exec' && wrote.length === 0)) state.looked = state.ended;
      return notes;
    },
    /** Must be called before each step, with its number. Returns the reason to end the run. */
    beforeStep(step: number): GuardStop | undefined {
      if (step <= state.step) return undefined;
      const { warned_at: warnedAt, circled_at: circledAt, score, subject } = state;
      state.step = step;
      if (score < limits.scoreStop || warnedAt === undefined || circledAt === undefined) return undefined;
      if (circledAt <= warnedAt || circledAt !== step - 1) return undefined;
      onGuard?.('loop', 'stop');
      return { guard: 'loop', reason: subject ?? 'it goes in circles' };
    },
  };

  /** Looking at what was just written shows something else each time, and that is no news. */
  function looksAtEdited(call: GuardedCall): boolean {
    const names = namedFiles(call);
    return state.history.some(({ path }) => names.includes(path));
  }
}

/** A tool other than a command that says that it changes things: a server, a memory, another agent. */
const changesElsewhere = ({ tool, mutates }: GuardedCall, { ok }: ToolResult): boolean =>
  ok && mutates && tool !== 'shell_exec';

type Counts = LoopCounts['calls'];

const lookUp = (list: Counts, key: string): number | undefined => list.find(([one]) => one === key)?.[1];

const raise = (list: Counts, key: string): number => {
  const count = (lookUp(list, key) ?? 0) + 1;
  put(list, key, count);
  return count;
};

function put(list: Counts, key: string, count: number): void {
  drop(list, key);
  list.push([key, count]);
  if (list.length > MAX_COUNTED) list.shift();
}

function drop(list: Counts, key: string): void {
  const at = list.findIndex(([one]) => one === key);
  if (at !== -1) list.splice(at, 1);
}
