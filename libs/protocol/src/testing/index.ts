export { silentLog } from '../ports/log.ts';
export { deadline } from './deadline.ts';
export { fleetErrorOf, hasCode } from './errors.ts';
export { type ManualClock, manualClock, START } from './manual-clock.ts';
export { type LogEntry, type RecordingLog, recordingLog } from './recording-log.ts';
export { type RecordedSpan, type RecordingTracing, recordingTracing } from './recording-tracing.ts';
export { type TempDirOptions, type TestScope, tempDir } from './temp-dir.ts';
