export { type ManualClock, manualClock } from './manual-clock.ts';
export { countingIds, market } from './play.ts';
