import { definedFields, invalidParams, isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { TaskDispatch } from '@hermes-fleet/protocol/handshake';

type Named = NonNullable<TaskDispatch['task']['repository']>;

/**
 * The dispatch of a task in a context that has begun, in its wire form: with the repository of the context, of which it may name
 * no other (docs/handshake.md#repositories). A context that works on a checkout goes on with the bundle that the task has, or else
 * with that of `begun`, the event `submitted` of an earlier task; that of release 0.2.0 has no repository. Throws INVALID_PARAMS for
 * another repository or base.
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
    if (named) throw refused(wordsOf(named), 'without a repository');
    return wire;
  }
  const { name, base, bundle = null } = known;
  const began = name === null ? 'in a checkout' : `in "${name}"`;
  if (named && (named.name ?? null) !== name) throw refused(wordsOf(named), began);
  if (named?.bundle !== undefined && bundle === null) throw refused('has a bundle', `${began} without one`);
  if (named?.bundle !== undefined) return wire;
  if (named?.base !== undefined && named.base !== base)
    throw refused(`has the base "${named.base}"`, base === null ? 'without one' : `from "${base}"`);
  const { task } = wire;
  const given = isJsonObject(task) ? task : {};
  const own = isJsonObject(given.repository) ? given.repository : {};
  const inherited = { name: name ?? undefined, base: base ?? undefined, bundle: bundle ?? undefined };
  return { ...wire, task: { ...given, repository: { ...definedFields(inherited), ...own } } };
}

const wordsOf = ({ name }: Named): string => (name === undefined ? 'is a checkout' : `is "${name}"`);
