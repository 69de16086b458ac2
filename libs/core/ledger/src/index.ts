export { conflictOf } from './accept.ts';
export type {
  ArtifactLimits,
  ReferencedPart,
  StoredChunk,
  StoredPart,
} from './artifact-types.ts';
export type {
  ContextDeletion,
  LedgerContexts,
  PeerDeletion,
  RemovedFiles,
  ResultsMode,
} from './context-types.ts';
export type { Booking, DaySpending, Figures, FiguresListener } from './figure-types.ts';
export type { JoinTokenRecord, LedgerJoins, WorkerRecord } from './join-types.ts';
export { joinTokenProblem, nameTaken } from './joins.ts';
export { type LedgerOptions, openLedger } from './ledger.ts';
export { type FiguresReader, openFigures } from './open-figures.ts';
export { type OutboxReader, openOutbox } from './open-outbox.ts';
export type { LedgerPush, NewPushConfig, PushConfig, PushLimits, PushVersion } from './push-types.ts';
export { isOpen } from './questions.ts';
export { spendingDay, utcDay } from './spending-days.ts';
export { impliedState, isTerminal } from './states.ts';
export type {
  Answer,
  FollowingEvent,
  KeptCheckpoint,
  KnownTask,
  Ledger,
  NewEvent,
  NewTask,
  PeerRecord,
  Question,
  TaskChange,
  TaskEvent,
  TaskPage,
  TaskQuery,
  TaskRecord,
  TaskState,
} from './types.ts';
