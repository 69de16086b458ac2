export { CONSOLE, SeenHead } from './console.ts';
export { Amount, BooksFigures, Figures } from './figures.ts';
export {
  ContextDeletion,
  FLEET,
  JOINING,
  JoinedWorker,
  JoinTokenState,
  PeerState,
  RouteDecision,
  Spending,
  TaskCost,
} from './fleet.ts';
export {
  AuditLine,
  AuditRecord,
  AuditReport,
  BacktestRefusal,
  BacktestReport,
  DoctorReport,
  Finding,
  RefillReport,
} from './reports.ts';
export type { Answer, Params, Route, RpcMethod } from './route.ts';
export { TRADER, TRADER_RPC } from './trader.ts';
