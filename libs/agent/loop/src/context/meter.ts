import type { ContextState } from '../run/context-state.ts';

/** From this estimate on, a call's metered input says how tokenizers differ; below, mostly what the provider adds. */
const LARGE_INPUT = 4096;
/** The correction's bounds: a figure beyond them is the provider's error. */
const MIN_RATIO = 0.85;
const MAX_RATIO = 2;
const MAX_EXTRA = 4096;
/** Added to what was metered, because the next messages may be denser than the ones before. */
const MARGIN = 1.03;
/** The part of a window that a refused request is taken to have filled, when the provider says no figure. */
const REFUSED_SHARE = 0.9;
/** With less of the window than this, an input is not taken for too long unless the provider says a figure. */
const PLAUSIBLE_SHARE = 1 / 4;
/** A window below this holds no conversation. */
const MIN_WINDOW = 512;

/** Corrects the estimate of an input by what the provider meters. */
export interface Meter {
  /** The tokens that the provider will count for an input of this estimate; rounded up. */
  corrected(estimate: number): number;
  /**
   * Learns from a metered call. The correction grows at once and never falls: a provider that leaves cached tokens out, or
   * that cuts the input silently, meters too little.
   */
  learn(estimate: number, metered: number): void;
  /**
   * Learns from a refusal of an input of this estimate. Returns false, having learnt nothing, when it has no figure and is
   * not plausible for so short an input; and when the window would become too small to work in.
   */
  refused(estimate: number, says: { readonly limit?: number; readonly input?: number }): boolean;
}

/** `state` is mutated, and belongs to the checkpoint. `window` is the configured window. */
export function createMeter(state: ContextState, window: () => number): Meter {
  const corrected = (estimate: number): number =>
    Math.ceil(state.ratio === undefined ? estimate + state.extra : estimate * state.ratio);

  function learn(estimate: number, metered: number): void {
    if (estimate < LARGE_INPUT) {
      state.extra = Math.min(MAX_EXTRA, Math.max(state.extra, Math.ceil(metered - estimate)));
      return;
    }
    const ratio = Math.min(MAX_RATIO, Math.max(MIN_RATIO, (MARGIN * metered) / estimate));
    state.ratio = Math.max(state.ratio ?? MIN_RATIO, ratio);
  }

  return {
    corrected,
    learn,
    refused(estimate, { limit, input }) {
      const isGuess = limit === undefined && input === undefined;
      if (isGuess && corrected(estimate) < PLAUSIBLE_SHARE * (state.window ?? window())) return false;
      const before = { window: state.window ?? window(), tokens: corrected(estimate) };
      if (input !== undefined && input > estimate) learn(estimate, input);
      if (limit !== undefined) state.window = Math.min(before.window, limit);
      const isNews = (state.window ?? before.window) < before.window || corrected(estimate) > before.tokens;
      // Otherwise the same request would be made again.
      if (!isNews) state.window = Math.floor(REFUSED_SHARE * Math.min(before.window, before.tokens));
      return (state.window ?? before.window) >= MIN_WINDOW;
    },
  };
}
