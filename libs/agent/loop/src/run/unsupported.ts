import type { ToolInput } from '@hermes-fleet/protocol/ports';

/** A parameter of other agents' tools that changes what a call does, and that a tool of ours does not have. */
export interface UnsupportedParameter {
  /** The values, as text in lower case, with which the call is the same as without it. `null` always is. */
  readonly same: readonly string[];
  /** What to do instead. */
  readonly instead: string;
}

/** Unsupported parameters by their names in snake case. */
export type Unsupported = Readonly<Record<string, UnsupportedParameter>>;

/** Why a call must not be carried out without the parameters that were dropped; undefined when it may. */
export function unsupportedIn(
  dropped: NonNullable<ToolInput['dropped']>,
  unsupported: Unsupported,
): string | undefined {
  const problems = dropped.flatMap(({ key, name, value }) => {
    const known = Object.hasOwn(unsupported, name) ? unsupported[name] : undefined;
    if (known === undefined || value === null || known.same.includes(asText(value))) return [];
    return [`${key} is not supported: ${known.instead}`];
  });
  return problems.length === 0 ? undefined : [...new Set(problems)].slice(0, MAX_PROBLEMS).join('; ');
}

const MAX_PROBLEMS = 4;

const asText = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).trim().toLowerCase();
