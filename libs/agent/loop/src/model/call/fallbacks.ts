import type { AgentModel } from './agent-model.ts';

/** After this time, a model that could not be called is tried first again. */
const PAUSE_MS = 60_000;

/** A model with others behind it. It has the identity and the window of the first. */
export function withFallbacks(first: AgentModel, others: readonly AgentModel[]): AgentModel {
  if (others.length === 0) return first;
  const all = [first, ...others];
  const pausedUntil = new Map<AgentModel, number>();
  return {
    ...first,
    fallbacks: {
      inOrder(clock) {
        const now = clock.monotonic();
        const isPaused = (model: AgentModel): boolean => (pausedUntil.get(model) ?? now) > now;
        return [...all.filter((model) => !isPaused(model)), ...all.filter(isPaused)];
      },
      failed(model, clock) {
        pausedUntil.set(model, clock.monotonic() + PAUSE_MS);
      },
    },
  };
}
