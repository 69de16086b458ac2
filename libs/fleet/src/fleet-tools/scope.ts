import { type Caller, type Scope, ToolError } from '@hermes-fleet/protocol';

/** A tool that acts on others needs the rights of whom it acts for (design 3, Rights travel). Throws a ToolError. */
export function needScope({ name, scopes }: Caller, ...anyOf: readonly Scope[]): void {
  if (anyOf.some((scope) => scopes.has(scope))) return;
  throw new ToolError(`${name}, for whom this task is done, lacks the scope ${anyOf.join(' or ')}`);
}
