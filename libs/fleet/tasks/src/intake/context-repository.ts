import { definedFields, invalidParams, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';

/**
 * The dispatch of a task in a context that has begun, in its wire form: with the repository of the context, of which it may name
 * no other (docs/handshake.md#repositories). `begun` is the event `submitted` of the context's first task; that of release 0.2.0
 * has no repository. Throws INVALID_PARAMS for another repository or base.
 */
export function inRepository(
  wire: JsonObject,
  { task: { repository: named } }: Pick<TaskDispatch, 'task'>,
  contextId: string,
  { repository: known }: JsonObject,
): JsonObject {
  const refused = (what: string, began: string) =>
    invalidParams(
      'task.repository',
      `${what}, but context ${contextId} began ${began}: leave it out, or start a new context`,
    );
  if (!isJsonObject(known)) {
    if (named) throw refused(`is "${named.name}"`, 'without a repository');
    return wire;
  }
  const { name, base } = known;
  if (named && named.name !== name) throw refused(`is "${named.name}"`, `in "${name}"`);
  if (named?.base !== undefined && base !== null && named.base !== base)
    throw refused(`has the base "${named.base}"`, `from "${base}"`);
  const { task } = wire;
  const given = isJsonObject(task) ? task : {};
  const own = isJsonObject(given.repository) ? given.repository : {};
  const repository = { ...definedFields({ name, base: base ?? undefined }), ...own };
  return { ...wire, task: { ...given, repository } };
}
