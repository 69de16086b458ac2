export * from './console.ts';
export * from './figures.ts';
export * from './fleet.ts';
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
export * from './repositories.ts';
export * from './results.ts';
export type { Answer, Params, Route, RpcMethod } from './route.ts';
export * from './trader.ts';
