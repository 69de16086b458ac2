import { FleetError } from '../errors.ts';
import { decodeAnnounce } from '../handshake/announce.ts';
import { readResult } from '../handshake/read-result.ts';
import { isJsonObject, type JsonObject } from '../wire/json.ts';
import { type FoundObject, findObjects } from './find-json-objects.ts';

/** The largest number of objects of one type that are examined, the last in the text first. */
const MAX_CANDIDATES = 50;
const WANTED = new Set(['TASK_RESULT', 'SESSION_ANNOUNCE']);

export interface FoundHandshake {
  /** The last readable TASK_RESULT, undecoded. */
  readonly result?: JsonObject;
  /** The last valid SESSION_ANNOUNCE, undecoded. */
  readonly announce?: JsonObject;
  /** The text without that TASK_RESULT. */
  readonly prose: string;
  /** If no TASK_RESULT is valid, the problem of the last one. */
  readonly problem?: string;
}

/**
 * Finds a TASK_RESULT and a SESSION_ANNOUNCE, as fenced or bare JSON objects, in an agent's text
 * (docs/handshake.md#to-a-prose-peer). With a `taskId`, a TASK_RESULT of another task is invalid. Takes linear time.
 */
export function findHandshake(text: string, taskId?: string): FoundHandshake {
  const objects = findObjects(text, WANTED);
  const lastOf = (wanted: string): FoundObject[] =>
    objects
      .filter(({ type }) => type === wanted)
      .slice(-MAX_CANDIDATES)
      .reverse();
  const announce = lastOf('SESSION_ANNOUNCE')
    .map((at) => read(text, at, decodeAnnounce))
    .find((each) => each.wire !== undefined)?.wire;
  const shared = announce === undefined ? {} : { announce };
  let problem: string | undefined;
  for (const at of lastOf('TASK_RESULT')) {
    const found = read(text, at, (wire) => {
      if (readResult(wire).result.taskId !== taskId && taskId !== undefined)
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
    return { problem: error instanceof FleetError ? error.message : 'it is not valid JSON' };
  }
}

const FENCE_BEFORE = /(?:^|\n)[ \t]*(`{3,}|~{3,})[ \t]*[A-Za-z]*[ \t]*\r?\n[ \t]*$/;
const FENCE_BEHIND = /^[ \t]*\r?\n[ \t]*(`{3,}|~{3,})[ \t]*(?=\r?\n|$)/;
/** Longer than any fence line with its language. */
const FENCE_CHARS = 200;

/** Removes the object from the text, with its code fence if that contains nothing else. */
function without(text: string, { start, end }: FoundObject): string {
  const before = FENCE_BEFORE.exec(text.slice(Math.max(0, start - FENCE_CHARS), start));
  const behind = FENCE_BEHIND.exec(text.slice(end, end + FENCE_CHARS));
  const fenced = before !== null && behind !== null && before[1] === behind[1];
  const head = text.slice(0, fenced ? start - before[0].length : start);
  const tail = text.slice(fenced ? end + behind[0].length : end);
  return [head.trim(), tail.trim()].filter((part) => part !== '').join('\n\n');
}
