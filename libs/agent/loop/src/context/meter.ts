import type { ContextOverflow } from '../messages/context-overflow.ts';
import type { ContextState } from '../run/run-state.ts';

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

/**
 * Corrects the estimate of an input by what the provider meters. `state` is mutated, and belongs to the checkpoint.
 * `window` is the configured window.
 */
export function createMeter(state: ContextState, window: () => number) {
  /** The tokens that the provider will count for an input of this estimate; rounded up. */
  const corrected = (estimate: number): number =>
    Math.ceil(state.ratio === undefined ? estimate + state.extra : estimate * state.ratio);

  /** Grows at once and never falls: a provider that leaves out cached tokens, or cuts the input, meters too little. */
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
    /** False, and nothing learnt, when it is not plausible for so short an input, or the window would be too small. */
    refused(estimate: number, { limit, input }: ContextOverflow): boolean {
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
