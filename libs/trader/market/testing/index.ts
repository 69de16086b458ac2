export { countingIds, market } from './play.ts';
