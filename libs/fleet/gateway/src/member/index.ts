export { busConnection, connectBus, flushAndClose, readBacklog } from './bus.ts';
export { EXTENSIONS, memberCard } from './card.ts';
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
export {
  createMemberGateway,
  createMemberPeers,
  type Member,
  type MemberGateway,
  type MemberPeers,
  openMember,
} from './open-member.ts';
export { createProblems, type Problems } from './problems.ts';
export { busState, type DependencyState, readinessFrom, storeState } from './readiness.ts';
export { type RefillReport, type RefillSource, refillMember } from './refill.ts';
export { type MemberService, serveMember } from './serve-member.ts';
export { closeConnections, closeStores, leaveRotation, type ServingMember } from './shutdown-steps.ts';
export { openMemberTracing } from './tracing.ts';
