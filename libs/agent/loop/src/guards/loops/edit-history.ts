import type { EditRecord, LoopCounts } from '../../run/run-state.ts';
import { type Edit, MAX_LINES } from './edits.ts';
import { areAlike, fromShort, overlap, shortOf } from './line-marks.ts';

/** Edits that are remembered; the oldest is forgotten first. */
const MAX_EDITS = 32;
/** Calls after which an edit is forgotten. */
const MAX_DISTANCE = 80;
/** Files whose lines are remembered. */
const MAX_FILES = 6;
const MAX_MARKS = 12;
/** Rewriting one region counts as a circle from here on: without and with looking at anything in between. */
const BLIND_REWRITES = 4;
const REWRITES = 9;

/** The relation of an edit to earlier edits of the file. */
export interface EditJudgment {
  /** True if it restores, repeats or rewrites again and again. */
  readonly circles: boolean;
  /** `news` if it writes something new in a new place, `new` if it rewrites a place. */
  readonly writes: 'news' | 'new' | 'nothing';
}

/** Compares an edit with earlier ones of its file, and remembers it. In one region, once is an undo, not a repetition. */
export function judgeEdit(state: LoopCounts, edit: Edit, wasLooked: (at: number) => boolean): EditJudgment {
  const mine = state.history.filter(({ path, at }) => path === edit.path && state.ended - at <= MAX_DISTANCE);
  const { was, now, grows } = changedLines(state, edit);
  const full = edit.was === undefined ? was : edit.around;
  const touched = mine.findLast((one) => touches(one, was, full, now));
  const equal = mine.findLast(({ id }) => id === edit.id);
  const base = touched ?? equal ?? (edit.was === undefined ? mine.at(-1) : undefined);
  const chain = base === undefined ? [] : mine.filter(({ region }) => region === base.region);
  const again =
    equal !== undefined || grows || chain.some((one) => restores(one, was, now) || growsOn(one, was, now));
  const last = chain.findLast((one) => removesMost(one, was));
  const before = chain.at(-1);
  // Taken back after a look, a change is tried out: as a mutant, or as one of several solutions.
  const isUndone = before !== undefined && before.was.length > 0 && restores(before, was, now);
  const isTrial = isUndone && !before.again && wasLooked(before.at);
  const blind = last === undefined || wasLooked(last.at) ? 1 : last.blind + 1;
  const depth = last === undefined ? 1 : isTrial ? Math.max(1, before.depth - 1) : last.depth + 1;
  const isFirst = again && !chain.some((one) => one.again);
  const region = base?.region ?? nextRegion(state.history);
  const record: EditRecord = {
    path: edit.path,
    id: edit.id,
    region,
    was,
    now,
    at: state.ended,
    depth,
    blind,
  };
  state.history = [...state.history, { ...record, ...(again && { again }) }].slice(-MAX_EDITS);
  const isNews = before !== undefined && state.news > before.at;
  const wears = blind >= BLIND_REWRITES || depth >= REWRITES;
  const writes = again || depth >= BLIND_REWRITES ? 'nothing' : depth === 1 ? 'news' : 'new';
  return { circles: !isNews && ((again && !isFirst && !isTrial) || wears), writes };
}

/** Rewriting begins anew after a check has passed. */
export function settleEdits(state: LoopCounts): void {
  state.history = state.history.map((one) => ({ ...one, depth: 0, blind: 0 }));
}

const nextRegion = (history: readonly EditRecord[]): number =>
  history.reduce((max, { region }) => Math.max(max, region), 0) + 1;

/** True if the lines that an edit found are those that the earlier one wrote. */
const touches = (
  one: EditRecord,
  was: readonly string[],
  full: readonly string[],
  now: readonly string[],
): boolean =>
  overlap(was.length > 0 ? was : full, one.now) || (one.now.length === 0 && areAlike(one.was, now));

/** False for an edit that inserts, or that replaces the end of a list by more. */
const removesMost = (one: EditRecord, was: readonly string[]): boolean =>
  was.length > 0 && one.now.filter((mark) => overlap([mark], was)).length * 2 > one.now.length;

/** True if an edit brings back what the earlier one removed, or removes what it added. */
function restores(one: EditRecord, was: readonly string[], now: readonly string[]): boolean {
  if (one.was.length === 0) return now.length === 0 && areAlike(one.now, was);
  return areAlike(one.was, now);
}

/** True if an edit inserts what the earlier one inserted. */
const growsOn = (one: EditRecord, was: readonly string[], now: readonly string[]): boolean =>
  was.length === 0 && one.was.length === 0 && areAlike(one.now, now);

/** The changed lines; for a file that was written whole, those that differ from what was written before. */
function changedLines(state: LoopCounts, edit: Edit): { was: string[]; now: string[]; grows: boolean } {
  const known = state.contents.find(([path]) => path === edit.path)?.[1];
  const before = known === undefined ? undefined : known.split(' ').filter((short) => short !== '');
  if (edit.was !== undefined) {
    if (before !== undefined) {
      const gone = new Set(edit.was.map(shortOf));
      keep(state, edit.path, [...before.filter((short) => !gone.has(short)), ...edit.now.map(shortOf)]);
    }
    return { was: [...edit.was], now: [...edit.now], grows: false };
  }
  const after = edit.now.map(shortOf);
  keep(state, edit.path, after);
  if (before === undefined) return { was: [], now: edit.now.slice(0, MAX_MARKS), grows: false };
  const old = new Set(before);
  const own = new Set(after);
  const was = [...old].filter((short) => !own.has(short)).map(fromShort);
  const now = edit.now.filter((mark) => !old.has(shortOf(mark)));
  const grows = now.length === 0 && was.length === 0 && after.length > before.length;
  return { was: was.slice(0, MAX_MARKS), now: now.slice(0, MAX_MARKS), grows };
}

function keep(state: LoopCounts, path: string, lines: readonly string[]): void {
  const others = state.contents.filter(([one]) => one !== path);
  state.contents = [...others, [path, lines.slice(0, MAX_LINES).join(' ')] as [string, string]].slice(
    -MAX_FILES,
  );
}

/** The files that were edited more than once since a check passed, and the number of their edits. */
export function editedAgain({ history }: LoopCounts): {
  readonly paths: readonly string[];
  readonly edits: number;
} {
  const recent = history.filter(({ depth }) => depth > 0);
  const paths = [...new Set(recent.map(({ path }) => path))];
  const again = paths.filter((path) => recent.filter((one) => one.path === path).length > 1);
  return { paths: again, edits: recent.filter(({ path }) => again.includes(path)).length };
}
