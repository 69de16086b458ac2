export { conflictOf } from './accept.ts';
export type { ArtifactLimits, StoredChunk, StoredPart } from './artifact-types.ts';
export type {
  ContextDeletion,
  LedgerContexts,
  PeerDeletion,
  RemovedFiles,
  ResultsMode,
} from './context-types.ts';
export type { Booking, DaySpending, Figures } from './figure-types.ts';
export { openFigures } from './figures.ts';
export {
  type JoinTokenRecord,
  joinTokenProblem,
  type LedgerJoins,
  nameTaken,
  type WorkerRecord,
} from './joins.ts';
export { openLedger } from './ledger.ts';
export { openOutbox } from './outbox.ts';
export type { NewPushConfig, PushConfig, PushLimits, PushVersion } from './push-types.ts';
export { isOpen } from './questions.ts';
export { spendingDay, utcDay } from './spending-days.ts';
export { impliedState, isTerminal } from './states.ts';
export type {
  FollowingEvent,
  Ledger,
  NewEvent,
  NewTask,
  Question,
  TaskEvent,
  TaskQuery,
  TaskRecord,
} from './types.ts';
