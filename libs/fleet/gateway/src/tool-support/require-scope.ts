import { type Caller, type Scope, ToolError } from '@hermes-fleet/protocol/ports';

/** Requires a scope of the task's caller, on whose behalf the tool acts (docs/agent.md#tools). Throws a ToolError. */
export function requireCallerScope({ name, scopes }: Caller, ...anyOf: readonly Scope[]): void {
  if (anyOf.some((scope) => scopes.has(scope))) return;
  throw new ToolError(`${name}, for whom this task is done, lacks the scope ${anyOf.join(' or ')}`);
}
