export { type LedgerOptions, openLedger } from './ledger.ts';
export { isOpen } from './questions.ts';
export { impliedState, isTerminal } from './states.ts';
export type {
  Answer,
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
