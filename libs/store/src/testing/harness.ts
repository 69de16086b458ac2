import {
  type ManualClock,
  manualClock,
  type RecordingLog,
  recordingLog,
  tempDir as removedAfter,
  type TestScope,
} from '@hermes-fleet/protocol/testing';

export { deadline, START } from '@hermes-fleet/protocol/testing';

// The names that the trader's tests still use for the test kit.
export type TestClock = ManualClock;
export const createTestClock = (): ManualClock => manualClock();
export const createTestLog = (): RecordingLog => recordingLog();
export const tempDir = (t: TestScope, closeFirst?: () => unknown): string => removedAfter(t, { closeFirst });
