import type { ModelInfo } from '@hermes-fleet/protocol';
import type { AgentModel } from './agent-model.ts';

/** After this time, a model that could not be called is tried first again. */
const PAUSE_MS = 60_000;

/**
 * A model with others behind it. It has the identity of the first, and the window of the one that would be called now, as
 * far as it is known without asking: that of the first until it fails.
 */
export function withFallbacks(first: AgentModel, others: readonly AgentModel[]): AgentModel {
  if (others.length === 0) return first;
  const all = [first, ...others];
  const pausedUntil = new Map<AgentModel, number>();
  let now = (): number => Number.NEGATIVE_INFINITY;
  const isPaused = (model: AgentModel): boolean =>
    (pausedUntil.get(model) ?? Number.NEGATIVE_INFINITY) > now();
  const current = (): AgentModel => all.find((model) => !isPaused(model)) ?? first;
  const info: ModelInfo = {
    id: first.info.id,
    tier: first.info.tier,
    get contextWindow() {
      return current().info.contextWindow;
    },
    get isWindowPending() {
      return current().info.isWindowPending ?? false;
    },
  };
  return {
    ...first,
    info,
    fallbacks: {
      inOrder: () => [...all.filter((model) => !isPaused(model)), ...all.filter(isPaused)],
      failed(model, clock) {
        now = () => clock.monotonic();
        pausedUntil.set(model, clock.monotonic() + PAUSE_MS);
      },
    },
  };
}
