import { isJsonObject, type JsonObject } from '../wire/json.ts';
import { isCompatible, majorOf } from '../wire/version.ts';
import { decodeDispatch, type TaskDispatch } from './dispatch.ts';
import type { Unmet } from './result.ts';

/** A decoded TASK_DISPATCH, or the unmet version of a dispatch of a foreign major version. */
export type Reading =
  | { readonly kind: 'dispatch'; readonly taskId: string; readonly dispatch: TaskDispatch }
  | { readonly kind: 'foreign'; readonly taskId: string | undefined; readonly unmet: Unmet[] };

const MAX_ID_LENGTH = 200;

/** The declared version of a dispatch; empty without a readable one. */
export function versionOf({ protocol_version: version }: JsonObject): string {
  return typeof version === 'string' ? version : '';
}

/**
 * Reads a TASK_DISPATCH as a speaker of the versions `spoken`. A foreign major version is detected before any other
 * field is read (docs/handshake.md#versions); any other invalid field throws INVALID_PARAMS.
 */
export function readDispatch(wire: JsonObject, spoken: readonly string[]): Reading {
  const version = versionOf(wire);
  if (!spoken.includes(version) && majorOf(version) !== undefined) {
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

/** The unmet requirement for a foreign major version; empty for a spoken one. */
export function versionUnmet(protocolVersion: string, spoken: readonly string[]): Unmet[] {
  if (isCompatible(protocolVersion, spoken)) return [];
  const detail = `handshake version ${protocolVersion} is not supported here, only ${spoken.join(', ')}`;
  return [{ kind: 'version', name: protocolVersion, detail, transient: false }];
}
