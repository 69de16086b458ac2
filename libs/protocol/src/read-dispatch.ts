import { decodeDispatch, type TaskDispatch } from './dispatch.ts';
import { isJsonObject, type JsonObject } from './json.ts';
import type { Unmet } from './result.ts';
import { isCompatible, majorOf } from './version.ts';

/** A TASK_DISPATCH as it can be judged: understood, or of a version that only allows to say so. */
export type Reading =
  | { readonly kind: 'dispatch'; readonly taskId: string; readonly dispatch: TaskDispatch }
  | { readonly kind: 'foreign'; readonly taskId: string | undefined; readonly unmet: Unmet[] };

const MAX_ID_LENGTH = 200;

/** The version that a dispatch says it is of; empty where it says nothing that can be read. */
export function versionOf({ protocol_version: version }: JsonObject): string {
  return typeof version === 'string' ? version : '';
}

/**
 * Reads a TASK_DISPATCH from the wire. A major version that is not among those `spoken` here is found before anything
 * else in it is judged (design 2, Admission); any other wrong field throws INVALID_PARAMS.
 */
export function readDispatch(wire: JsonObject, spoken: readonly string[]): Reading {
  const version = versionOf(wire);
  if (majorOf(version) !== undefined) {
    const { task } = wire;
    const unmet = versionUnmet(version, spoken);
    if (unmet.length > 0)
      return { kind: 'foreign', taskId: idOf(isJsonObject(task) ? task.task_id : ''), unmet };
  }
  const dispatch = decodeDispatch(wire);
  return { kind: 'dispatch', taskId: dispatch.task.taskId, dispatch };
}

function idOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_LENGTH ? value : undefined;
}

/** The unmet entry for a version whose major is not among those spoken here; empty when it is. */
export function versionUnmet(protocolVersion: string, spoken: readonly string[]): Unmet[] {
  if (isCompatible(protocolVersion, spoken)) return [];
  const detail = `handshake version ${protocolVersion} is not spoken here, only ${spoken.join(', ')}`;
  return [{ kind: 'version', name: protocolVersion, detail, transient: false }];
}
