export { CONCERN, GRID, SHIELD, strategy, TREND } from '../store/testing/harness.ts';
