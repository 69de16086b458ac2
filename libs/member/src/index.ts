export { startBacklogGauge } from './backlog-gauge.ts';
export { busConnection, connectAnnounces, connectBus, flushAndClose } from './bus.ts';
export { cardOf, EXTENSIONS, memberCard } from './card.ts';
export {
  type MemberConfiguration,
  type MemberReading,
  readMemberConfiguration,
  readUnvalidated,
  unvalidatedProblems,
} from './configuration.ts';
export { type DoctorReport, type ExamineMemberOptions, examineMember } from './doctor.ts';
export { type EntryPoint, runEntryPoint } from './entry-point.ts';
export {
  type MemberEnvironment,
  profileDir,
  readMemberEnvironment,
  traderDir,
} from './environment.ts';
export { listen } from './listen.ts';
export { createProblems, type Problems } from './problems.ts';
export { busState, type DependencyState, readinessFrom, storeState } from './readiness.ts';
export { type Retention, startRetention } from './retention.ts';
export { version } from './version.ts';
