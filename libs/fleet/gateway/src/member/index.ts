export { busConnection, connectBus, flushAndClose, readBacklog } from './bus.ts';
export { EXTENSIONS, memberCard } from './card.ts';
export {
  type MemberConfiguration,
  readMemberConfiguration,
  readUnvalidated,
  unvalidatedProblems,
} from './configuration.ts';
export { type DoctorReport, examineMember } from './doctor.ts';
export { runEntryPoint } from './entry-point.ts';
export {
  type MemberEnvironment,
  profileDir,
  readMemberEnvironment,
  traderDir,
} from './environment.ts';
export { createMemberGateway, createMemberPeers, openMember, openMemberTracing } from './open-member.ts';
export { createProblems } from './problems.ts';
export { busState, type DependencyState, readinessFrom, storeState } from './readiness.ts';
export { type RefillReport, refillMember } from './refill.ts';
export { serveMember } from './serve-member.ts';
export { closeConnections, closeStores, leaveRotation, type ServingMember } from './shutdown-steps.ts';
