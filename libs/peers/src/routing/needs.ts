import type { TaskDispatch } from '@hermes-fleet/protocol';

/** The context window, in tokens, that the dispatch asks for or its brief takes. */
export function neededWindow(dispatch: TaskDispatch, briefTokens = 0): number {
  return Math.max(dispatch.requirements?.minContextWindow ?? 0, briefTokens);
}

/** Whether any peer will do, as far as the dispatch says. A preferred tier is no requirement. */
export function requiresNothing({ requirements = {} }: TaskDispatch): boolean {
  const { requiredMcp = [], requiredCapabilities = [], modelTier = {}, minContextWindow } = requirements;
  const open = modelTier.min === undefined && modelTier.max === undefined && minContextWindow === undefined;
  return open && requiredMcp.length === 0 && requiredCapabilities.length === 0;
}
