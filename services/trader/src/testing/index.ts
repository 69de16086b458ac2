export { CONCERN, createTestLog, GRID, SHIELD, strategy, TREND, tempDir } from '../store/testing/harness.ts';
