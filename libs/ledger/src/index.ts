export { type LedgerOptions, openLedger } from './ledger.ts';
export { acquireOwnership } from './ownership.ts';
export { impliedState, isTerminal } from './states.ts';
export type {
  Ledger,
  NewEvent,
  NewTask,
  PeerRecord,
  TaskChange,
  TaskEvent,
  TaskPage,
  TaskQuery,
  TaskRecord,
  TaskState,
} from './types.ts';
