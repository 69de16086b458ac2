import {
  decodeAnnounce,
  decodeResult,
  FleetError,
  isJsonObject,
  type JsonObject,
} from '@hermes-fleet/protocol';
import { type FoundObject, findObjects } from './find-json-objects.ts';

/** How many objects of a kind are looked at, the last ones of a text first. */
const MAX_CANDIDATES = 50;
const WANTED = new Set(['TASK_RESULT', 'SESSION_ANNOUNCE']);

/** The handshake messages that an agent wrote into its text. */
export interface FoundHandshake {
  /** The last valid TASK_RESULT, as it stands there. */
  readonly result?: JsonObject;
  /** The last valid SESSION_ANNOUNCE. */
  readonly announce?: JsonObject;
  /** The text without that TASK_RESULT. */
  readonly prose: string;
  /** Why the last TASK_RESULT there is not valid, where none is. */
  readonly problem?: string;
}

/**
 * Finds TASK_RESULT and SESSION_ANNOUNCE as fenced or bare JSON objects in a text (design 2, Prose peers). With a
 * `taskId`, a TASK_RESULT about another task is not taken. Linear in the length of the text.
 */
export function findHandshake(text: string, taskId?: string): FoundHandshake {
  const objects = findObjects(text, WANTED);
  const announces = objects.filter(({ type }) => type === 'SESSION_ANNOUNCE').slice(-MAX_CANDIDATES);
  const announce = announces
    .reverse()
    .map((at) => read(text, at, decodeAnnounce))
    .find((each) => each.wire !== undefined)?.wire;
  const shared = announce === undefined ? {} : { announce };
  let problem: string | undefined;
  for (const at of objects
    .filter(({ type }) => type === 'TASK_RESULT')
    .slice(-MAX_CANDIDATES)
    .reverse()) {
    const found = read(text, at, (wire) => {
      if (decodeResult(wire).taskId !== taskId && taskId !== undefined)
        throw new FleetError('INVALID_PARAMS', `TASK_RESULT is not valid: task_id: must be "${taskId}"`);
    });
    if (found.wire !== undefined) return { ...shared, result: found.wire, prose: without(text, at) };
    problem ??= found.problem;
  }
  return { ...shared, prose: text, ...(problem === undefined ? {} : { problem }) };
}

interface Read {
  readonly wire?: JsonObject;
  readonly problem?: string;
}

function read(text: string, { start, end }: FoundObject, check: (wire: JsonObject) => unknown): Read {
  try {
    const wire: unknown = JSON.parse(text.slice(start, end));
    if (!isJsonObject(wire)) return {};
    check(wire);
    return { wire };
  } catch (error) {
    return { problem: error instanceof FleetError ? error.message : 'it is no JSON' };
  }
}

const FENCE_BEFORE = /(?:^|\n)[ \t]*(`{3,}|~{3,})[ \t]*[A-Za-z]*[ \t]*\r?\n[ \t]*$/;
const FENCE_BEHIND = /^[ \t]*\r?\n[ \t]*(`{3,}|~{3,})[ \t]*(?=\r?\n|$)/;
/** More than a fence and its language ever take. */
const FENCE_CHARS = 200;

/** The text without the object, and without the code fence that held nothing else. */
function without(text: string, { start, end }: FoundObject): string {
  const before = FENCE_BEFORE.exec(text.slice(Math.max(0, start - FENCE_CHARS), start));
  const behind = FENCE_BEHIND.exec(text.slice(end, end + FENCE_CHARS));
  const fenced = before !== null && behind !== null && before[1] === behind[1];
  const head = text.slice(0, fenced ? start - before[0].length : start);
  const tail = text.slice(fenced ? end + behind[0].length : end);
  return [head.trim(), tail.trim()].filter((part) => part !== '').join('\n\n');
}
